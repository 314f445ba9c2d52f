"""Which candidate of a search is selected by its scores on validation rows, and the table of these scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from scipy.stats import t as student

from ldlearn.core.simplex import SampleWeight
from ldlearn.joint.validation import Fold, paired_z

PARAMS = ("alpha", "beta", "gamma", "feature_map")
_LEVEL = 0.05  # of the paired tests


@dataclass(frozen=True)
class Candidate:
    """Hyperparameters to try."""

    params: dict[str, Any]
    of_rule: bool  # whether beta and gamma are those of DLDL's own rule, or the nearest to them that are tried
    message: str  # of that rule

    def __str__(self) -> str:
        values = ", ".join(f"{name}={self.params[name]:.3g}" for name in PARAMS[:-1])
        return f"{values}, feature_map={_table_value(self.params['feature_map'])!r:.40}"


@dataclass(frozen=True)
class ValidationScores:
    """Scores of every candidate on every row while it is held out."""

    folds: list[Fold]
    weights: SampleWeight
    log_likelihoods: NDArray[np.float64]  # (n_candidates, n_samples), of the labels
    intersections: NDArray[np.float64]  # (n_candidates, n_samples), with the true degrees; NaN where they are unknown

    @property
    def have_degrees(self) -> bool:
        """Whether the true degrees of some rows are known."""
        return bool(np.isfinite(self.intersections).any())

    def fold_means(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted mean of each candidate in each fold, (n_candidates, n_folds); NaN in a fold without scores."""
        columns = [self.mean(scores[:, fold.test], self.weights[fold.test]) for fold in self.folds]
        return np.column_stack(columns) if columns else np.empty((len(scores), 0))

    @staticmethod
    def mean(scores: NDArray[np.float64], weights: SampleWeight) -> NDArray[np.float64]:
        """Weighted mean over the rows that have a score."""
        rows = np.isfinite(scores[0])
        return (
            np.average(scores[:, rows], axis=1, weights=weights[rows]) if rows.any() else np.full(len(scores), np.nan)
        )


def is_significantly_better(
    scores: NDArray[np.float64], other: NDArray[np.float64], weights: SampleWeight, level: float = _LEVEL
) -> bool:
    """Paired one-sided t-test of the scores of two candidates on the same rows; NaN where a row has no score."""
    rows = np.isfinite(scores)
    n = int(rows.sum())
    return n > 1 and paired_z((scores - other)[rows], weights[rows]) > student.ppf(1.0 - level, n - 1)


def select_candidate(candidates: list[Candidate], scores: ValidationScores) -> tuple[int, str]:
    """Index of the selected candidate, and a message.

    The first candidate of the rule is the default. A later one, which has another alpha or feature map, replaces it if
    held-out labels are significantly likelier; then any candidate that is significantly nearer to known degrees. Beta
    and gamma are not compared by likelihood, which prefers values that are too large.
    """
    default, *others = (k for k, candidate in enumerate(candidates) if candidate.of_rule)
    best, reason = default, "too few rows for a validation, the first setting"
    if scores.folds:
        values = scores.log_likelihoods
        for k in others:
            best = k if is_significantly_better(values[k], values[best], scores.weights) else best
        means = scores.mean(values, scores.weights)
        reason = f"no setting makes held-out labels significantly likelier (log-likelihood per row {means[best]:.3f})"
        if best != default:
            reason = (
                f"held-out labels are significantly likelier ({means[best]:.3f} per row, first: {means[default]:.3f})"
            )
        reason = "; ".join(filter(None, (reason, candidates[best].message)))
    if scores.have_degrees:
        values = scores.intersections
        means = scores.mean(values, scores.weights)
        nearest, n_rows = int(np.argmax(means)), int(np.isfinite(values[0]).sum())
        # Of many candidates the best is best by chance in some: the level is divided among them.
        if is_significantly_better(values[nearest], values[best], scores.weights, _LEVEL / max(1, len(values) - 1)):
            reason = f"nearest to the held-out degrees, by {means[nearest] - means[best]:.3f} in {n_rows} rows"
            best = nearest
        else:
            reason = f"nothing is significantly nearer to the known degrees ({n_rows} rows); {reason}"
    return best, f"{candidates[best]}: {reason}"


def make_cv_results(candidates: list[Candidate], scores: ValidationScores) -> dict[str, Any]:
    """``cv_results_`` in the form of scikit-learn's searches."""
    splits = scores.fold_means(scores.intersections if scores.have_degrees else scores.log_likelihoods)
    columns: dict[str, Any] = {"params": [candidate.params for candidate in candidates]}
    for name in PARAMS:
        columns[f"param_{name}"] = np.empty(len(candidates), dtype=object)
        columns[f"param_{name}"][:] = [_table_value(candidate.params[name]) for candidate in candidates]
    columns |= {f"split{k}_test_score": column for k, column in enumerate(splits.T)}
    valid = np.ma.masked_invalid(splits)  # a fold may have no known degrees; of few rows there is no fold at all
    mean = valid.mean(axis=1).filled(np.nan)
    columns |= {"mean_test_score": mean, "std_test_score": valid.std(axis=1).filled(np.nan)}
    columns["rank_test_score"] = rankdata(-np.nan_to_num(mean), method="min").astype(np.int32)
    if scores.have_degrees:
        columns["mean_test_log_likelihood"] = scores.fold_means(scores.log_likelihoods).mean(axis=1)
    return columns


def _table_value(value: Any) -> Any:
    """A value of the grid as a table can hold it: a transformer by its name."""
    return value if value is None or isinstance(value, int | float | str) else repr(value)
