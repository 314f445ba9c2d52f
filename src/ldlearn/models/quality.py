"""The quality of a table model: scores beside floors, rows held out, warnings about labels, columns and rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.extmath import row_norms

from ldlearn.core.neighbors import neighbor_index
from ldlearn.core.simplex import normalize_rows, softmax
from ldlearn.errors import InputError, some
from ldlearn.io.values import are_logical
from ldlearn.metrics import LABEL_METRICS, METRICS, USUAL_METRICS, Metric, get_metric, per_row
from ldlearn.models.column_kinds import JunkCells
from ldlearn.models.table_model import (
    FeatureChoice,
    TableModel,
    as_frame,
    comparable_labels,
    label_columns,
    mean_distribution,
    read_labels,
)

_FEWEST_ROWS = 30
_DUPLICATE_ROWS = 4000  # rows looked at
_DUPLICATE_DIRECTIONS = 100
_DUPLICATE_DISTANCE = 0.001  # of the typical distance between two rows
_DUPLICATE_SHARE = 0.01
_RARE = 5
_NEEDS_MORE_THAN = 2.0  # standard errors by which a model must beat the floor
_SLOW_TO_CLASSIFY = 3_000_000  # entries of the features, for each label
_STEP = 0.01  # of the way from the mean prediction to the predictions, to take a slope

Matrix = NDArray[np.float64]


def fit_and_check(
    table: Any,
    labels: Sequence[str],
    *,
    estimator: Any = None,
    embedding: Any = None,
    holdout: float = 0.2,
    seed: int = 0,
    targets: Matrix | None = None,
    kind: str = "auto",
    separator: str | None = None,
    **columns: Unpack[FeatureChoice],
) -> TableModel:
    """Fit a `TableModel` and fill its ``facts``: figures of the data, scores on rows held out, warnings.

    Parameters
    ----------
    table, labels, estimator, embedding, targets, kind, separator
        As in `TableModel.fit`.
    holdout : float, default=0.2
        Share of the rows that a second model, fitted on the others only, is scored on; 0 for none. The model
        that is returned is fitted on all rows.
    seed : int, default=0
        Of the split.
    **columns
        ``features, numeric, categorical, date, text, ignore, id``, as in `TableModel.fit`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from ldlearn.models import fit_and_check
    >>> x = np.linspace(-1, 1, 60)
    >>> table = pd.DataFrame({"x": x, "low": (x < 0.3).astype(int), "high": (x > -0.3).astype(int)})
    >>> model = fit_and_check(table, labels=["low", "high"])
    >>> model.facts["holdout"]["better_than_floors"]
    True
    """
    table, labels, listed = label_columns(as_frame(table), labels, separator)
    T = read_labels(table, labels) if targets is None else targets
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, X = TableModel.fit_rows(table, labels, estimator, embedding, T, kind, **columns)
    if listed is not None:
        model.facts["label_list"] = listed._asdict()
    held = _hold_out(table, model, estimator, embedding, T, holdout, seed, kind) if holdout > 0 else "not asked for"
    model.facts["holdout"] = held if isinstance(held, dict) else None
    model.facts["warnings"] = [
        *dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught),
        *_about_labels(comparable_labels(T, kind)[0], labels),
        *model.facts["warnings"],
        *_about_duplicates(X),
        *_about_scores(held),
    ]
    return model


def _hold_out(
    table: Any, model: TableModel, estimator: Any, embedding: Any, T: Any, share: float, seed: int, kind: str
) -> dict[str, Any] | str:
    """Scores of a model that has not seen some of the rows, or why there are none."""
    n = len(table)
    if n < _FEWEST_ROWS:
        return f"{n} rows are too few to hold some out"
    order = np.random.default_rng(seed).permutation(n)
    test, train = np.sort(order[: max(1, round(share * n))]), np.sort(order[max(1, round(share * n)) :])
    fresh = clone(model.estimator) if estimator is None else estimator
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told = FeatureChoice(features=model.features, numeric=model.numeric, categorical=model.categorical)
            told |= FeatureChoice(date=model.dates, text=model.texts)
            part, X = TableModel.fit_rows(table.iloc[train], model.labels, fresh, embedding, T[train], kind, **told)
            X_test = part.transform(table.iloc[test], JunkCells())
            P = np.asarray(part.estimator.predict(X_test))
    except ValueError as error:
        return f"a fit without them failed ({error})"
    T, logical = comparable_labels(T, kind)
    usual = _classified(X, T[train], X_test) if logical else None
    mean = mean_distribution(T[train])
    known = judged_rows(T[test], logical)
    if known.sum() < 2:
        return "hardly any of them has a label that is known"
    test, P, usual = test[known], P[known], None if usual is None else usual[known]
    truth = np.asarray(T[test] if logical else normalize_rows(T[test]), dtype=np.float64)
    advantage, error_of = advantage_over_constant(truth, P, mean, logical)
    return {
        "rows": len(test),
        "share": float(share),
        "seed": seed,
        "scores": [score.as_dict() for score in score_predictions(truth, P, mean, logical=logical, classifier=usual)],
        "advantage": advantage,
        "standard_error": error_of,
        "better_than_floors": clearly_better(advantage, error_of),
    }


def _classified(X: Any, T: Matrix, X_test: Any) -> Matrix | None:
    """What anyone would do first, classify each label and normalise, predicts for rows held out.

    None if it would be slow, or is not to be had: the check itself does not depend on it.
    """
    ticked = np.nansum(T, axis=1) > 0
    if ticked.sum() * X.shape[1] * T.shape[1] > _SLOW_TO_CLASSIFY:
        return None
    from ldlearn.compose import FromClassifier

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(FromClassifier(link="votes").fit(X[ticked], T[ticked]).predict(X_test))
    except ValueError:
        return None


def _about_scores(held: dict[str, Any] | str) -> list[str]:
    if isinstance(held, str):
        return [f"The model was not checked on rows it has not seen: {held}."]
    return [] if held["better_than_floors"] else [signal_words(held)]


def signal_words(held: dict[str, Any]) -> str:
    """What rows held out say of the signal in the features, as sentences."""
    rows, gain, error = f"{held['rows']:,} rows held out", held["advantage"], held["standard_error"]
    if not any(score["name"] == "vote_likelihood" for score in held["scores"]):  # degrees, or a file of version 0.1.0
        said = "the predictions are{} better than the same mean distribution for every row"
    else:
        said = "labels are{} likelier under the predictions than under one prediction for all rows"
        said += f" (slope of the log-likelihood per row {gain:+.3f}, standard error {error:.3f})"
    if held["better_than_floors"]:
        return f"The features tell something: on {rows} {said.format('')}."
    if gain == error == 0:
        return f"Nothing to judge by: the labels of {rows} fit every prediction equally well."
    if gain > error:
        return f"Not certain: on {rows} {said.format('')}, but by no more than chance might give. More rows would tell."
    return f"Uninformative features: on {rows} {said.format(' no')}. Do not trust differences between rows."


def _about_labels(T: Matrix, labels: Sequence[str]) -> list[str]:
    if not are_logical(T):
        never = [name for name, column in zip(labels, np.nan_to_num(T).T, strict=True) if not column.any()]
        return _listed({"Labels never seen (no degree above 0 in any row)": never})
    counts = dict(zip(labels, np.nansum(T, axis=0).astype(int).tolist(), strict=True))
    seen = dict(zip(labels, (~np.isnan(T)).sum(axis=0).tolist(), strict=True))
    never = [name for name, count in counts.items() if count == 0]
    always = [name for name, count in counts.items() if count == seen[name] == len(T)]
    ticked = [name for name, count in counts.items() if 0 < count == seen[name] < len(T)]
    rare = [name for name, count in counts.items() if 0 < count < min(_RARE, len(T))]
    return _listed(
        {
            "Labels never seen (0 in every row, so their degrees mean nothing)": never,
            "Labels always there (1 in every row, which tells nothing about them)": always,
            "Labels that are 1 wherever they are known (write 0 where an empty cell means no)": ticked,
            f"Rare labels (1 in fewer than {_RARE} rows, so their degrees are guesses)": rare,
        }
    )


def _listed(groups: dict[str, list[str]]) -> list[str]:
    return [f"{text}: {some(names)}." for text, names in groups.items() if names]


def near_duplicate_share(X: Any) -> float:
    """Share of the rows (of at most 4,000) that lie very near another row; X may be sparse."""
    sample, rng = X, np.random.default_rng(0)
    if X.shape[0] > _DUPLICATE_ROWS:
        sample = X[np.sort(np.random.default_rng(0).permutation(X.shape[0])[:_DUPLICATE_ROWS])]
    if sample.shape[1] > _DUPLICATE_DIRECTIONS:  # distances along that many random directions are enough to tell
        sample = sample @ rng.normal(size=(sample.shape[1], _DUPLICATE_DIRECTIONS))
    n = sample.shape[0]
    if n < 2:
        return 0.0
    pairs = rng.integers(0, n, size=(2, 2000))
    apart = pairs[:, pairs[0] != pairs[1]]
    typical = float(np.median(row_norms(sample[apart[0]] - sample[apart[1]])))
    nearest = neighbor_index(sample, 1)[0].kneighbors()[0][:, 0]
    return float((nearest <= _DUPLICATE_DISTANCE * typical).mean())


def _about_duplicates(X: Any) -> list[str]:
    share = near_duplicate_share(X)
    if share <= _DUPLICATE_SHARE:
        return []
    return [
        f"Near-duplicate rows: {share:.0%} of the rows lie very near another one; scores on rows held out are too good."
    ]


@dataclass(frozen=True)
class Score:
    """One measure of a model and of the floors.

    Attributes
    ----------
    name, title : str
    greater_is_better : bool
    model, mean, uniform : float
        The value of the model; of the mean training distribution for every row; of equal shares for every row.
    classifier : float or None
        The value of `FromClassifier`, fitted to the same rows; None if there is none.
    """

    name: str
    title: str
    greater_is_better: bool
    model: float
    mean: float
    uniform: float
    classifier: float | None = None

    @property
    def heading(self) -> str:
        """Title and an arrow for its direction."""
        return f"{self.title} {'↑' if self.greater_is_better else '↓'}"

    @property
    def beats_floors(self) -> bool:
        """Whether the model is better than both floors."""
        sign = 1 if self.greater_is_better else -1
        return sign * self.model > sign * (max if self.greater_is_better else min)(self.mean, self.uniform)

    def as_dict(self) -> dict[str, Any]:
        """Plain values that are there, for JSON and model files."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def score_predictions(
    truth: Matrix,
    P: Matrix,
    mean: Matrix,
    metrics: Sequence[str] | str | None = None,
    *,
    logical: bool,
    weights: Matrix | None = None,
    classifier: Matrix | None = None,
) -> list[Score]:
    """Scores of predictions beside those of two constant ones, and of a classifier.

    Parameters
    ----------
    truth : ndarray of shape (n, c)
        True distributions or 0/1 labels.
    P : ndarray of shape (n, c)
        Predictions.
    mean : ndarray of shape (c,)
        The mean distribution of the training rows.
    metrics : sequence of str or "all", optional
        Names of `ldlearn.metrics`; by default the usual six, or all of those against 0/1 labels.
    logical : bool
        Whether ``truth`` holds 0/1 labels.
    weights : ndarray of shape (n,), optional
        How often each row counts.
    classifier : ndarray of shape (n, c), optional
        What a classifier of the labels predicts.
    """
    beside = {"mean": np.tile(mean, (len(P), 1)), "uniform": np.full(P.shape, 1.0 / P.shape[1])}
    if classifier is not None:
        beside["classifier"] = classifier
    return [
        Score(
            metric.name,
            metric.title,
            metric.greater_is_better,
            _mean(metric.rows(truth, P), weights),
            **{name: _mean(metric.rows(truth, other), weights) for name, other in beside.items()},
        )
        for metric in choose_metrics(metrics, logical)
    ]


def _mean(rows: Matrix, weights: Matrix | None) -> float:
    """Of the rows that have a value."""
    defined = ~np.isnan(rows)
    if not defined.any():
        return float("nan")
    return float(np.average(rows[defined], weights=None if weights is None else weights[defined]))


def wants_all(metrics: Sequence[str] | str | None) -> bool:
    """Whether these are not names of metrics but the word "all"."""
    return metrics == "all" or list(metrics or ()) == ["all"]


def choose_metrics(names: Sequence[str] | str | None, logical: bool) -> list[Metric]:
    """The metrics of these names, or by default those that fit the truth; one that does not fit is refused."""
    fitting = list(LABEL_METRICS if logical else METRICS)
    if names is None or wants_all(names):
        names = fitting if logical or names is not None else USUAL_METRICS
    chosen = [get_metric(name) for name in names]
    unfit = [metric.name for metric in chosen if metric.against_labels != logical]
    if unfit:
        needed, given = ("true degrees", "0/1 labels") if logical else ("0/1 labels", "degrees")
        raise InputError(
            f"The metric {unfit[0]} needs {needed}, but the table has {given}; choose among {some(fitting)}."
        )
    return chosen


def judged_rows(truth: Matrix, logical: bool) -> NDArray[np.bool_]:
    """Rows that say something: of 0/1 labels those that are known count, degrees must be there all."""
    missing = np.isnan(truth)
    return np.asarray(~(missing.all(axis=1) if logical else missing.any(axis=1)))


def advantage_over_constant(truth: Matrix, P: Matrix, mean: Matrix, logical: bool) -> tuple[float, float]:
    """How much better than one prediction for all rows, per row, and the standard error of that.

    Of true degrees: the gain in Kullback-Leibler divergence over their mean, which is the best constant. Of 0/1 labels:
    the slope of their vote log-likelihood on the way from the mean prediction to the predictions. It is 0 on average if
    the features say nothing, whatever the labels mean and however sharp or flat the predictions are, while the
    likelihood itself would also blame a prediction that is too sharp.
    """
    if logical:
        shares = np.log(np.maximum(P, np.finfo(np.float64).tiny))
        constant = np.log(np.maximum(P.mean(axis=0), np.finfo(np.float64).tiny)) + np.zeros_like(shares)
        moved = constant + _STEP * (shares - constant)
        ahead, behind = (per_row("vote_likelihood", truth, softmax(logits)) for logits in (moved, constant))
        gain = (ahead - behind) / _STEP
    else:
        floor = np.tile(mean, (len(P), 1))
        # A degree of 0 where the truth has any would cost infinitely much, once, and decide alone.
        gain = per_row("kl_divergence", truth, floor + 1e-9) - per_row("kl_divergence", truth, P + 1e-9)
    return float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else float("inf")


def clearly_better(advantage: float, error: float) -> bool:
    """Whether an advantage is more than chance."""
    return advantage > _NEEDS_MORE_THAN * error and advantage > 0


def held_out_scores(facts: dict[str, Any]) -> list[Score]:
    """The scores that a model keeps of rows held out; none if none were."""
    held = facts.get("holdout") or {}
    return [Score(**record) for record in held.get("scores", [])]
