"""The ranks of the paper's tables, computed again from the values printed beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldlearn.metrics import METRICS
from ldlearn.stats import ranks

PAPER_METRICS = {
    "Chebyshev": "chebyshev",
    "Clark": "clark",
    "One-error": "threshold_error",
    "Intersection": "intersection",
}
AVERAGE = "Avg.Rank"
# Tables 1 and 2 leave out the deviations, by which the paper orders equal means.
_DEVIATIONS = {"1": "S3", "2": "S4"}

Row = Mapping[str, str]


@dataclass(frozen=True)
class RankedTable:
    """One metric of one table: methods ranked on every data set.

    Attributes
    ----------
    table, metric : str
        As the paper names them.
    datasets, methods : tuple of str
        Rows and columns of the arrays, in printed order.
    values, deviations, printed : ndarray of shape (n_datasets, n_methods)
        Means, standard deviations (0 if none is printed) and ranks in print.
    printed_averages, printed_places : tuple of str
        The row of average ranks, and the ranks of those.
    """

    table: str
    metric: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    values: NDArray[np.float64]
    deviations: NDArray[np.float64]
    printed: NDArray[np.float64]
    printed_averages: tuple[str, ...]
    printed_places: tuple[str, ...]

    @property
    def greater_is_better(self) -> bool:
        """Direction of the metric."""
        return METRICS[PAPER_METRICS[self.metric]].greater_is_better

    @property
    def right(self) -> NDArray[np.float64]:
        """The ranks that the printed values give by the paper's rule for ties."""
        return self._ranked(self.greater_is_better)

    @property
    def backwards(self) -> NDArray[np.float64]:
        """The same with the worst method first."""
        return self._ranked(not self.greater_is_better)

    def _ranked(self, greater_is_better: bool) -> NDArray[np.float64]:
        return ranks(self.values, greater_is_better=greater_is_better, ties="paper", std=self.deviations)


def ranked_tables(rows: Iterable[Row]) -> list[RankedTable]:
    """Every table and metric of which ranks are printed.

    Parameters
    ----------
    rows : iterable of mapping
        Cells with the keys table, metric, dataset, method, mean, std and rank, as in the files of the tables.
    """
    ranked: dict[tuple[str, str], dict[tuple[str, str], Row]] = {}
    for row in rows:
        if row["rank"]:
            ranked.setdefault((row["table"], row["metric"]), {})[row["dataset"], row["method"]] = row
    return [_ranked_table(table, metric, ranked) for table, metric in ranked]


def _ranked_table(
    table: str, metric: str, ranked: Mapping[tuple[str, str], Mapping[tuple[str, str], Row]]
) -> RankedTable:
    cells = ranked[table, metric]
    with_deviations = ranked.get((_DEVIATIONS.get(table, table), metric), cells)
    datasets = tuple(dict.fromkeys(d for d, _ in cells if d != AVERAGE))
    methods = tuple(dict.fromkeys(m for _, m in cells))
    return RankedTable(
        table,
        metric,
        datasets,
        methods,
        values=_matrix(cells, datasets, methods, "mean"),
        deviations=_matrix(with_deviations, datasets, methods, "std"),
        printed=_matrix(cells, datasets, methods, "rank"),
        printed_averages=tuple(cells[AVERAGE, method]["mean"] for method in methods),
        printed_places=tuple(cells[AVERAGE, method]["rank"] for method in methods),
    )


def _matrix(
    cells: Mapping[tuple[str, str], Row], datasets: Sequence[str], methods: Sequence[str], column: str
) -> NDArray[np.float64]:
    return np.array([[float(cells[d, m][column] or 0) for m in methods] for d in datasets])
