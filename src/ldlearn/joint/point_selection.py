"""What held-out rows say of the points of a search, and which of these they choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from scipy.stats import t as student

_LEVEL = 0.05  # of the paired tests
_PARAMS = ("alpha", "beta", "gamma", "feature_map")


@dataclass(frozen=True)
class RowScores:
    """What rows held out say of a point: one number for each, and how often it counts."""

    values: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Sequence[RowScores]) -> RowScores:
        """Those of all folds."""
        return cls(np.concatenate([part.values for part in parts]), np.concatenate([part.weights for part in parts]))

    @property
    def mean(self) -> float:
        """NaN without any row."""
        return float(np.average(self.values, weights=self.weights)) if len(self.values) else np.nan

    def is_beyond_chance(self, other: RowScores, level: float = _LEVEL) -> bool:
        """Whether this is greater than what the same rows say of another point, by a paired test."""
        n = len(self.values)
        if n < 2:
            return False
        gain = self.values - other.values
        mean = np.average(gain, weights=self.weights)
        # The standard error of a weighted mean of independent rows; with equal weights the usual one.
        error = np.sqrt(n / (n - 1) * np.sum((self.weights * (gain - mean)) ** 2)) / self.weights.sum()
        return bool(mean > student.ppf(1.0 - level, n - 1) * error)


@dataclass(frozen=True)
class ScoredPoint:
    """A point, and what each fold says of it."""

    params: dict[str, Any]
    of_rule: bool  # whether beta and gamma are those of DLDL's own rule, or the nearest to them that are tried
    words: str  # of that rule
    likelihoods: Sequence[RowScores]  # of the labels
    nearness: Sequence[RowScores]  # to the known degrees, if there are any

    def __str__(self) -> str:
        weights = ", ".join(f"{name}={self.params[name]:.3g}" for name in _PARAMS if name != "feature_map")
        return f"{weights}, feature_map={_plain(self.params['feature_map'])!r:.40}"


def choose_point(points: Sequence[ScoredPoint]) -> tuple[int, str]:
    """The place of the best point, and why it is that.

    The first point of the rule is kept in doubt. A later one, which has another alpha or feature map, replaces it if
    held-out labels are likelier beyond chance; then any point that is nearer to known degrees beyond chance.
    """
    chosen, why = _by_likelihood(points)
    if _has_degrees(points):
        chosen, why = _by_degrees(points, chosen, why)
    return chosen, f"{points[chosen]}: {why}"


def _has_degrees(points: Sequence[ScoredPoint]) -> bool:
    return any(len(fold.values) for fold in points[0].nearness)


def _by_likelihood(points: Sequence[ScoredPoint]) -> tuple[int, str]:
    """Among the points of the rule alone: labels are likelier under weights that are too large."""
    chosen, *others = (k for k, point in enumerate(points) if point.of_rule)
    if not points[0].likelihoods:
        return chosen, "too few rows to choose by, the first setting"
    rows = [RowScores.joined(point.likelihoods) for point in points]
    first = chosen
    for other in others:
        chosen = other if rows[other].is_beyond_chance(rows[chosen]) else chosen
    likelihood = f"log-likelihood per row {rows[chosen].mean:.3f}"
    why = f"nothing makes held-out labels likelier beyond chance ({likelihood})"
    if chosen != first:
        why = f"held-out labels are likelier beyond chance ({likelihood}; the first setting has {rows[first].mean:.3f})"
    return chosen, "; ".join(filter(None, (why, points[chosen].words)))


def _by_degrees(points: Sequence[ScoredPoint], chosen: int, why: str) -> tuple[int, str]:
    """The best of many points is best by chance in some: the level is shared among them."""
    rows = [RowScores.joined(point.nearness) for point in points]
    nearest = max(range(len(rows)), key=lambda k: rows[k].mean)
    n = len(rows[0].values)
    if rows[nearest].is_beyond_chance(rows[chosen], _LEVEL / max(1, len(points) - 1)):
        gain = rows[nearest].mean - rows[chosen].mean
        return nearest, f"nearest to the degrees held out, by {gain:.3f} in {n} rows"
    return chosen, f"known degrees ({n} rows) prefer nothing else beyond chance; {why}"


def results(points: Sequence[ScoredPoint]) -> dict[str, Any]:
    """``cv_results_`` as scikit-learn's searches have it."""
    told = _has_degrees(points)
    splits = _means([point.nearness if told else point.likelihoods for point in points])
    columns: dict[str, Any] = {"params": [point.params for point in points]}
    columns |= {f"param_{name}": _objects([_plain(point.params[name]) for point in points]) for name in _PARAMS}
    columns |= {f"split{k}_test_score": column for k, column in enumerate(splits.T)}
    some = np.ma.masked_invalid(splits)  # a fold may hold no known row; of few rows there is no fold at all
    mean = some.mean(axis=1).filled(np.nan)
    columns |= {"mean_test_score": mean, "std_test_score": some.std(axis=1).filled(np.nan)}
    columns["rank_test_score"] = rankdata(-np.nan_to_num(mean), method="min").astype(np.int32)
    if told:
        columns["mean_test_log_likelihood"] = _means([point.likelihoods for point in points]).mean(axis=1)
    return columns


def _means(parts: Sequence[Sequence[RowScores]]) -> NDArray[np.float64]:
    """The mean of each part: shape (points, folds)."""
    return np.array([[rows.mean for rows in folds] for folds in parts]).reshape(len(parts), -1)


def _plain(value: Any) -> Any:
    """A value of the grid as a table can hold it: a transformer by its name."""
    return value if value is None or isinstance(value, int | float | str) else repr(value)


def _objects(values: list[Any]) -> NDArray[np.object_]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
