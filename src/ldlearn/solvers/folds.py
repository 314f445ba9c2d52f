"""Folds of training and validation rows, which depend on the features and on groups of rows, but
not on their order."""

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
    """Cut rows into five folds, or fewer if there are more than 1,000 rows; at most ``max_rows``
    rows are used.

    Rows with the same features stay together, so that no row is validated by its own copy and a row
    twice is a row of weight 2. Only where fewer than ten rows differ, among hundreds, are copies
    separated. If groups are given, the rows of a group stay together instead. There are no folds of
    fewer than ten rows or groups.
    """
    order, starts = features.sort_rows()
    if groups is not None:
        order, starts = _sort_by_groups(groups, order)
    elif len(starts) < _MIN_ROWS <= len(order) / _MIN_ROWS:
        starts = np.arange(len(order))
    if len(starts) < _MIN_ROWS:
        return []
    ends = np.append(starts[1:], len(order))
    shuffled = np.random.default_rng(1).permutation(len(starts))
    n_used = int(np.searchsorted(np.cumsum((ends - starts)[shuffled]), max_rows, side="right"))
    used = [order[starts[k] : ends[k]] for k in shuffled[: max(n_used, _MIN_ROWS)]]
    n_folds = min(5, max(min_folds, 5000 // len(used)))  # about as much work for any number of rows
    parts = [np.concatenate(used[k::n_folds]) for k in range(n_folds)]
    return [
        Fold(np.sort(np.concatenate(parts[:k] + parts[k + 1 :])), np.sort(part))
        for k, part in enumerate(parts)
    ]


def _sort_by_groups(groups: Indices, order: Indices) -> tuple[Indices, Indices]:
    """Sort rows by group, groups by their first row in this order; also return where each group
    starts."""
    _, first, group = np.unique(groups[order], return_index=True, return_inverse=True)
    by_group = np.argsort(first[group], kind="stable")
    return order[by_group], np.flatnonzero(np.diff(first[group][by_group], prepend=-1))
