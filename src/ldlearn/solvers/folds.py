"""Folds of training and validation rows.

They depend on the features and on groups of rows, but not on the order of the rows.
"""

from typing import NamedTuple

import numpy as np

from ldlearn.core.simplex import Indices
from ldlearn.solvers.centred_matrix import CentredMatrix

_MAX_VALIDATED = 2000  # that models are compared on
_MIN_ROWS = 10  # fewer (different) rows are no evidence


class Fold(NamedTuple):
    """Training rows and validation rows."""

    train: Indices
    test: Indices


def validation_folds(
    features: CentredMatrix,
    groups: Indices | None = None,
    *,
    max_rows: int = _MAX_VALIDATED,
    min_folds: int = 2,
) -> list[Fold]:
    """Cut rows into five folds, or fewer if there are more than 1,000 rows.

    At most ``max_rows`` rows are used. Rows with the same features stay together, so that no row is
    validated by its own copy and a row twice is a row of weight 2. Only where fewer than ten rows
    differ, among hundreds, are copies separated. If groups are given, the rows of a group stay
    together instead. There are no folds of fewer than ten rows or groups.
    """
    order, starts = features.sort_rows()
    if groups is not None:
        order, starts = _sort_by_groups(groups, order)
    elif len(starts) < _MIN_ROWS <= len(order) / _MIN_ROWS:
        starts = np.arange(len(order))
    if len(starts) < _MIN_ROWS:
        return []
    units = np.split(order, starts[1:])
    shuffled = np.random.default_rng(1).permutation(len(units))
    sizes = np.diff(starts, append=len(order))[shuffled]
    n_used = int(np.searchsorted(np.cumsum(sizes), max_rows, side="right"))
    used = [units[k] for k in shuffled[: max(n_used, _MIN_ROWS)]]
    # About as much work for any number of rows.
    n_folds = min(5, max(min_folds, 5000 // len(used)))
    folds = []
    for k in range(n_folds):
        test = np.sort(np.concatenate(used[k::n_folds]))
        train = np.setdiff1d(np.concatenate(used), test)
        folds.append(Fold(train, test))
    return folds


def _sort_by_groups(groups: Indices, order: Indices) -> tuple[Indices, Indices]:
    """Sort rows by group, and groups by their first row in this order.

    Also return where each group starts.
    """
    groups = groups[order]
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    first_rows = first[group]
    by_group = np.argsort(first_rows, kind="stable")
    changes = np.diff(first_rows[by_group], prepend=-1)
    return order[by_group], np.flatnonzero(changes)
