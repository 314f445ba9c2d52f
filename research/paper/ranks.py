"""The ranks of the paper's tables, computed again from the values printed beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldlearn.metrics import METRICS
from research.paper.printed_tables import AVERAGE, PAPER_METRICS, SUPPLEMENT, PrintedCell

Cells = Mapping[tuple[str, str], PrintedCell]  # by data set and method


def paper_ranks(
    scores: NDArray[np.float64], std: NDArray[np.float64], *, greater_is_better: bool
) -> NDArray[np.float64]:
    """Ranks by the paper's rule: a smaller deviation is first among equal scores, then all share
    the smallest rank."""
    costs = -scores if greater_is_better else scores
    mine, other = costs[:, :, np.newaxis], costs[:, np.newaxis, :]
    smaller_std = std[:, np.newaxis, :] < std[:, :, np.newaxis]
    return np.asarray(1.0 + ((other < mine) | ((other == mine) & smaller_std)).sum(axis=2))


@dataclass(frozen=True)
class RankedTable:
    """One metric of one table: methods ranked on every data set.

    Attributes
    ----------
    table, metric : str
        As the paper names them.
    cells : mapping of (str, str) to PrintedCell
        By data set and method, average ranks included.
    with_deviations : mapping of (str, str) to PrintedCell
        The same where deviations are printed: by these the paper orders equal means, but Tables 1
        and 2 leave them out.
    """

    table: str
    metric: str
    cells: Cells
    with_deviations: Cells

    @property
    def datasets(self) -> tuple[str, ...]:
        """Rows of the arrays, in printed order."""
        return tuple(dict.fromkeys(dataset for dataset, _ in self.cells if dataset != AVERAGE))

    @property
    def methods(self) -> tuple[str, ...]:
        """Columns of the arrays, in printed order."""
        return tuple(dict.fromkeys(method for _, method in self.cells))

    @property
    def greater_is_better(self) -> bool:
        """Direction of the metric."""
        return METRICS[PAPER_METRICS[self.metric]].greater_is_better

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Printed means, shape (n_datasets, n_methods)."""
        return self._matrix(self.cells, "mean")

    @cached_property
    def printed(self) -> NDArray[np.float64]:
        """Printed ranks, shape (n_datasets, n_methods)."""
        return self._matrix(self.cells, "rank")

    @cached_property
    def right(self) -> NDArray[np.float64]:
        """The ranks that the printed values give by the paper's rule for ties."""
        return self._ranked(self.greater_is_better)

    @cached_property
    def backwards(self) -> NDArray[np.float64]:
        """The same with the worst method first."""
        return self._ranked(not self.greater_is_better)

    def wrong(self) -> Iterator[tuple[PrintedCell, str]]:
        """Cells with another rank than their values give, and that rank."""
        for i, j in zip(*(self.printed != self.right).nonzero(), strict=True):
            yield self.cells[self.datasets[i], self.methods[j]], f"{self.right[i, j]:.0f}"

    def _ranked(self, greater_is_better: bool) -> NDArray[np.float64]:
        # Tables 1 and 2 print no deviations, which break ties; the supplement repeats their values
        # with them.
        deviations = self._matrix(self.with_deviations, "std")
        return paper_ranks(self.values, deviations, greater_is_better=greater_is_better)

    def _matrix(self, cells: Cells, column: str) -> NDArray[np.float64]:
        # Where nothing is printed, no deviation breaks a tie.
        return np.array(
            [
                [float(getattr(cells[d, m], column) or 0) for m in self.methods]
                for d in self.datasets
            ]
        )


def ranked_tables(cells: Iterable[PrintedCell]) -> list[RankedTable]:
    """Every table and metric of which ranks are printed.

    Parameters
    ----------
    cells : iterable of PrintedCell
        As `printed_cells` gives them.

    Returns
    -------
    list of RankedTable
    """
    ranked: dict[tuple[str, str], dict[tuple[str, str], PrintedCell]] = {}
    for cell in cells:
        if cell.rank:
            ranked.setdefault((cell.table, cell.metric), {})[cell.dataset, cell.method] = cell
    return [
        RankedTable(table, metric, mine, ranked.get((SUPPLEMENT.get(table, table), metric), mine))
        for (table, metric), mine in ranked.items()
    ]
