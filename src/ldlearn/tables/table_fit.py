"""Fitting a model on a table or a table file, as the command `fit` does: with scores on rows held out, and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms

from ldlearn.compose.method_names import DEFAULT_METHOD, make_predictor
from ldlearn.core.neighbors import neighbor_index
from ldlearn.core.simplex import normalize_rows
from ldlearn.exceptions import ParameterError, format_list
from ldlearn.metrics.against_baselines import (
    Score,
    advantage_over_constant,
    clearly_better,
    judged_rows,
    score_predictions,
)
from ldlearn.tables.column_types import CellReport
from ldlearn.tables.columns import Columns, FeatureColumns
from ldlearn.tables.delimited_dialect import Dialect
from ldlearn.tables.formats import check_output, naming
from ldlearn.tables.labelled_table import (
    LabelledTable,
    TableInput,
    TrainingTargets,
    label_frame,
    mean_distribution,
    read_labelled,
)
from ldlearn.tables.model_files import save_model
from ldlearn.tables.progress import Progress, silent
from ldlearn.tables.source import OnMessage
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.values import are_logical

_FEWEST_ROWS = 30
_DUPLICATE_ROWS = 4000  # rows looked at
_DUPLICATE_DIRECTIONS = 100
_DUPLICATE_DISTANCE = 0.001  # of the typical distance between two rows
_DUPLICATE_SHARE = 0.01
_RARE = 5
_SLOW_TO_CLASSIFY = 3_000_000  # entries of the features, for each label

Matrix = NDArray[np.float64]


def fit_table(
    data: str,
    labels: Columns,
    output: str | None = None,
    *,
    embedding: Any = None,
    method: str = DEFAULT_METHOD,
    params: Mapping[str, Any] | None = None,
    holdout: float = 0.2,
    kind: str = "auto",
    separator: str | None = None,
    format: str | None = None,
    dialect: Dialect | None = None,
    on_message: OnMessage | None = None,
    overwrite: bool = True,
    progress: Progress = silent,
    **columns: Unpack[FeatureColumns],
) -> TableModel:
    """Fit a model on a table file, check it on rows held out, and write the model file.

    Parameters
    ----------
    data : str
        The table; "-" for standard input.
    labels : str or sequence
        The label columns: names, prefixes (``emo_*``), ranges (``x1:x9``), joined by commas. Or one column that holds
        lists of labels.
    output : str, optional
        The model file to write.
    features : str or sequence, optional
        Feature columns; by default all others.
    numeric, categorical, date, text, ignore : str or sequence, optional
        Those among them to be taken for numbers, categories (codes), dates or prose, or left out, whatever they look
        like; see `TableModel.fit`.
    embedding : transformer, optional
        What makes numbers of prose; see `TableModel.fit` and `import_embedding`.
    id : str, optional
        A column that names the rows.
    method : str, default="DLDL"
        See `ldlearn.compose.method_names`.
    params : mapping, optional
        Parameters of the method.
    holdout : float, default=0.2
        Share of the rows that a second fit is checked on; 0 for none.
    kind : {"auto", "votes", "mixed"}, default="auto"
        What the label columns hold: counts of votes, and 0/1 labels with the degrees of some rows, are said to be.
    separator : str, optional
        What separates labels in one column of lists; found by default.
    format : str, optional
        Format of the table if its name does not tell.
    dialect : Dialect, optional
        Separator, decimal mark and encoding of a text table, where its first rows do not tell.
    on_message : callable, optional
        Called with messages about anything unusual in the table; by default they become warnings.
    overwrite : bool, default=True
        Whether an existing output is replaced.
    progress : callable, optional
        Reports the progress; see `ldlearn.tables.progress`.

    Returns
    -------
    TableModel
    """
    if not 0 <= holdout < 1:
        raise ParameterError(f"holdout must be at least 0 and below 1, got {holdout:g}.")
    if output is not None:
        check_output(output, [data], overwrite=overwrite)
    make_predictor(method, params)  # wrong parameters fail before the table is read
    table_input = TableInput(data, format, dialect, on_message, progress)
    table = read_labelled(table_input, labels, columns, kind=kind, separator=separator)
    with naming(table_input.where):
        estimator = make_predictor(method, params, logical=table.labels.is_logical)
        with progress("fitting", None):
            model = _fit_and_check(table, estimator, embedding, holdout)
        if table.listed is not None and getattr(estimator, "ordered", False):
            table_input.log(table.listed.describe_order(model.labels))
        model.facts["source"] = table_input.identity()
    if output is not None:
        save_model(model, output)
    return model


def fit_and_check(
    table: Any,
    labels: Columns,
    *,
    estimator: Any = None,
    embedding: Any = None,
    holdout: float = 0.2,
    seed: int = 0,
    kind: str = "auto",
    separator: str | None = None,
    **columns: Unpack[FeatureColumns],
) -> TableModel:
    """Fit a `TableModel` and fill its ``facts``: figures of the data, scores on rows held out, warnings.

    Parameters
    ----------
    table, labels, estimator, embedding, kind, separator
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
    >>> from ldlearn.tables import fit_and_check
    >>> x = np.linspace(-1, 1, 60)
    >>> table = pd.DataFrame({"x": x, "low": (x < 0.3).astype(int), "high": (x > -0.3).astype(int)})
    >>> model = fit_and_check(table, labels=["low", "high"])
    >>> model.facts["holdout"]["better_than_baselines"]
    True
    """
    return _fit_and_check(label_frame(table, labels, columns, kind, separator), estimator, embedding, holdout, seed)


def _fit_and_check(table: LabelledTable, estimator: Any, embedding: Any, holdout: float, seed: int = 0) -> TableModel:
    # Kept with the model, so that whoever opens its file or its card reads them, too.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, X, given = TableModel.fit_labelled(table, estimator, embedding)
    held = _hold_out(table, model, given, embedding, holdout, seed) if holdout > 0 else "not asked for"
    model.facts["holdout"] = held if isinstance(held, dict) else None
    model.facts["warnings"] = [
        *dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught),
        *_about_labels(given.truth, model.labels),
        *model.facts["warnings"],
        *_about_duplicates(X),
        *_about_scores(held),
    ]
    return model


def _hold_out(
    table: LabelledTable, model: TableModel, given: TrainingTargets, embedding: Any, share: float, seed: int
) -> dict[str, Any] | str:
    """Scores of a model that has not seen some of the rows, or why there are none."""
    n = len(given.y)
    if n < _FEWEST_ROWS:
        return f"{n} rows are too few to hold some out"
    order = np.random.default_rng(seed).permutation(n)
    test, train = np.sort(order[: max(1, round(share * n))]), np.sort(order[max(1, round(share * n)) :])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # A clone of the estimator; the types of columns are those of all rows, so that both models see the same
            # features.
            part, X, _ = TableModel.fit_labelled(table.take(train), model.estimator, embedding, model.types)
            X_test = part.transform(table.frame.iloc[test], CellReport(decimal=table.decimal))
            P = np.asarray(part.estimator.predict(X_test))
    # Such as a label that is unknown in all remaining rows: then there is no check, but still a model.
    except ValueError as error:
        return f"a fit without them failed ({error})"
    T, logical = given.truth, given.kind == "0/1"
    usual = _classified(X, T[train], X_test) if logical else None
    mean = mean_distribution(T[train])
    known = judged_rows(T[test], logical)
    # A single row has no standard error.
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
        "better_than_baselines": clearly_better(advantage, error_of),
    }


def _classified(X: Any, T: Matrix, X_test: Any) -> Matrix | None:
    """What anyone would do first, classify each label and normalise, predicts for rows held out.

    None if it would be slow, or is not to be had: the check itself does not depend on it.
    """
    # A classifier refuses rows without a positive label.
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
    return [] if held["better_than_baselines"] else [describe_signal(held)]


def describe_signal(held: dict[str, Any]) -> str:
    """What rows held out say of the signal in the features, as sentences."""
    rows, gain, error = f"{held['rows']:,} rows held out", held["advantage"], held["standard_error"]
    if not any(score["name"] == "vote_likelihood" for score in held["scores"]):  # degrees, or a file of version 0.1.0
        said = "the predictions are{} better than the same mean distribution for every row"
    else:
        said = "labels are{} likelier under the predictions than under one prediction for all rows"
        said += f" (slope of the log-likelihood per row {gain:+.3f}, standard error {error:.3f})"
    if held["better_than_baselines"]:
        return f"The features tell something: on {rows} {said.format('')}."
    if gain == error == 0:
        return f"Nothing to judge by: the labels of {rows} fit every prediction equally well."
    if gain > error:
        return f"Not certain: on {rows} {said.format('')}, but by no more than chance might give. More rows would tell."
    return f"Uninformative features: on {rows} {said.format(' no')}. Do not trust differences between rows."


def _about_labels(T: Matrix, labels: Sequence[str]) -> list[str]:
    n, counts, seen = len(T), np.nansum(T, axis=0), (~np.isnan(T)).sum(axis=0)
    if are_logical(T):
        groups = {
            "Labels never seen (0 in every row, so their degrees mean nothing)": counts == 0,
            "Labels always there (1 in every row, which tells nothing about them)": counts == n,
            "Labels that are 1 wherever they are known (write 0 where an empty cell means no)": (
                (counts > 0) & (counts == seen) & (seen < n)
            ),
            f"Rare labels (1 in fewer than {_RARE} rows, so their degrees are guesses)": (
                (counts > 0) & (counts < min(_RARE, n))
            ),
        }
    else:
        groups = {"Labels never seen (no degree above 0 in any row)": counts == 0}
    return [
        f"{text}: {format_list(np.compress(found, labels).tolist())}." for text, found in groups.items() if found.any()
    ]


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


def held_out_scores(facts: dict[str, Any]) -> list[Score]:
    """The scores that a model keeps of rows held out; none if none were."""
    held = facts.get("holdout") or {}
    return [Score(**record) for record in held.get("scores", [])]
