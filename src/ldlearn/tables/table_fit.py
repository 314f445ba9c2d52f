"""Fit a model on a table or a table file, as the command `fit` does: with scores on held-out rows,
and warnings."""

import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from ldlearn._messages import format_list
from ldlearn.base.discovery import installed_versions
from ldlearn.compose.from_classifier import FromClassifier, plain_classifier
from ldlearn.compose.method_names import DEFAULT_METHOD, make_predictor
from ldlearn.core.row_groups import Groups, count_groups, rows_of_groups
from ldlearn.exceptions import ParameterError
from ldlearn.metrics.against_baselines import (
    Score,
    clearly_better,
    scorable_rows,
    score_with_baselines,
)
from ldlearn.tables.column_types import CellReport
from ldlearn.tables.columns import Columns
from ldlearn.tables.files import prefix_errors, sha256_of
from ldlearn.tables.formats import check_output
from ldlearn.tables.labelled_table import FitOptions, LabelledTable, find_groups, read_labelled
from ldlearn.tables.model_files import save_model
from ldlearn.tables.table_labels import TrainingTargets, are_logical, mean_distribution
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.writing import check_gives_intervals

Matrix = NDArray[np.float64]


def fit_table(
    data: Any,
    labels: Columns,
    output: str | None = None,
    *,
    embedding: Any = None,
    method: Any = DEFAULT_METHOD,
    params: Mapping[str, Any] | None = None,
    holdout: float = 0.2,
    seed: int = 0,
    intervals: bool = False,
    zeros: str | None = None,
    overwrite: bool = True,
    **options: Unpack[FitOptions],
) -> TableModel:
    """Fit a model on a table, validate it on held-out rows, and write the model file.

    Its ``facts`` are figures of the data, scores on the held-out rows, and warnings.

    Parameters
    ----------
    data : str or DataFrame
        The table, or its file; "-" for standard input.
    labels : str or sequence
        The label columns: names, prefixes (``emo_*``), ranges (``x1:x9``), joined by commas. Or one
        column that holds lists of labels.
    output : str, optional
        The model file to write.
    features : str or sequence, optional
        Feature columns; by default all others.
    numeric, categorical, datetime, text, ignore : str or sequence, optional
        Those among them to be taken for numbers, categories (codes), dates or prose, or left out,
        whatever they look like; see `TableModel.fit`.
    embedding : transformer, optional
        What makes numbers of prose; see `TableModel.fit` and `import_embedding`.
    id : str, optional
        The identifier column.
    groups : str, optional
        A column that names groups of rows that belong together, such as the patient, the author or
        the photo; it is no feature. A group is held out as a whole, standard errors are those of
        independent groups, and methods that take ``groups`` get them. A missing value is an error.
        Rows with equal features are kept together in any case, so that groups with such rows count
        as one.
    method : str or estimator, default="DLDL"
        See `ldlearn.compose.method_names`; or anything of the library that predicts, unfitted.
    params : mapping, optional
        Parameters of a method that is given by name.
    holdout : float, default=0.2
        Fraction of the rows that a second model, fitted on the others only, is scored on; 0 for
        none. The model that is returned is fitted on all rows.
    seed : int, default=0
        Of the random choice of these rows.
    intervals : bool, default=False
        Whether the model file is to hold what intervals and the flag of far rows need; see
        `save_model`.
    zeros : {"none", "less"}, optional
        What a 0 means to a method that is given by name; see `ldlearn.DLDL`. None assumes "none"
        and reports the mean number of positive labels.
    kind : {"auto", "votes", "mixed"}, default="auto"
        What the label columns hold: counts of votes, and 0/1 labels with the degrees of some rows,
        have to be declared.
    separator : str, optional
        What separates labels in one column of lists; found by default.
    blank : float, optional
        Value of empty label cells: 0, or NaN for unknown. By default they are unknown, too, but if
        more than 10 % are empty and all others positive, this has to be stated.
    empty_rows : {"error", "drop", "unknown"}, default="error"
        Rows whose labels are all 0: an error, left out, or labels that are unknown.
    format : str, optional
        Format of the table, if it cannot be inferred from its name.
    dialect : Dialect, optional
        Separator, decimal mark and encoding of a text table; they are detected if not given.
    on_message : callable, optional
        Called with messages about anything unusual in the table; by default they become warnings.
    overwrite : bool, default=True
        Whether an existing output is replaced.
    progress : callable, optional
        Reports the progress; see `ldlearn.tables.files.Progress`.

    Returns
    -------
    TableModel

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from ldlearn.tables import fit_table
    >>> x = np.linspace(-1, 1, 60)
    >>> table = pd.DataFrame({"x": x, "low": (x < 0.3).astype(int), "high": (x > -0.3).astype(int)})
    >>> model = fit_table(table, labels=["low", "high"])
    >>> model.facts["holdout"]["better_than_baselines"]
    True
    """

    def make_estimator(logical: bool = True) -> Any:
        return make_predictor(method, params, logical, zeros) if isinstance(method, str) else method

    if not isinstance(method, str) and (params or zeros):
        raise ParameterError(
            "params and zeros are for a method given by name; set them in the estimator."
        )
    if not 0 <= holdout < 1:
        raise ParameterError(f"holdout must be at least 0 and below 1, got {holdout:g}.")
    if output is not None:
        check_output(output, [data] if isinstance(data, str) else [], overwrite=overwrite)
    estimator = make_estimator()  # wrong parameters fail before the table is read
    if intervals:
        check_gives_intervals(estimator)
    table = read_labelled(data, labels, options)
    with prefix_errors(table.input.where), table.input.reading.progress("fitting", None):
        estimator = make_estimator(table.labels.is_logical)
        model = _fit_and_validate(table, estimator, embedding, holdout, seed)
    model.facts["source"] = describe_origin(table.input.where)
    if (
        table.input.reading.on_message is not None
        and zeros is None
        and "zeros" not in (params or {})
    ):
        table.labels.report_zeros(estimator, table.input.reading.on_message)
    if output is not None:
        save_model(model, output, intervals=intervals)
    return model


def describe_origin(name: str) -> dict[str, str]:
    """Name and checksum of a table file, date and version of ldlearn: for the card of a model."""
    path, today, version = (
        Path(name),
        f"{datetime.now(UTC):%Y-%m-%d}",
        installed_versions()["ldlearn"],
    )
    checksum = {"sha256": sha256_of(path)} if path.is_file() else {}
    name = path.name.encode(errors="backslashreplace").decode()  # it need not be UTF-8
    return {"file": name, "date": today, "ldlearn": version} | checksum


def _fit_and_validate(
    table: LabelledTable, estimator: Any, embedding: Any, holdout: float, seed: int
) -> TableModel:
    # Kept with the model, so that readers of its file or its card see the warnings, too.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, X, targets = TableModel.fit_labelled(table, estimator, embedding)
    named = table.named_groups
    groups, _ = find_groups(X, named)
    if holdout > 0 and targets.kind == "0/1":
        model.classifier = _fit_classifier(model.estimator, X, targets.truth, named)
    held: dict[str, Any] | str = "none were asked for"
    if holdout > 0:
        held = _score_held_out(table, model, targets, groups, embedding, holdout, seed)
    if isinstance(held, dict):
        model.facts["holdout"] = held
        scores = [] if held["better_than_baselines"] else [describe_signal(held)]
        scores += [describe_classifier(held)]
    else:
        scores = [f"The model was not validated on held-out rows: {held}."]
    model.facts["warnings"] = [
        *dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught),
        *_check_labels(targets.truth, model.labels),
        *model.facts["warnings"],
        *filter(None, scores),
    ]
    return model


def _score_held_out(
    table: LabelledTable,
    model: TableModel,
    targets: TrainingTargets,
    groups: Groups,
    embedding: Any,
    share: float,
    seed: int,
) -> dict[str, Any] | str:
    """Scores of a model fitted without some groups of rows on these rows, or why there are none."""
    n_rows, n_groups = len(groups), count_groups(groups)
    if n_rows < 30:
        return f"{n_rows} rows are too few to hold some out"
    # One group has no standard error.
    n_test = min(max(2, round(share * n_groups)), n_groups - 1)
    if n_test < 2:
        return f"with equal rows taken together there are {n_groups} groups, and no more than one can be held out"
    order = np.random.default_rng(seed).permutation(n_groups)
    test, train = (
        np.sort(rows_of_groups(groups, part)) for part in (order[:n_test], order[n_test:])
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # A clone of the estimator; the types of columns are those of all rows, so that both
            # models see the same features.
            part, X, _ = TableModel.fit_labelled(
                table.take(train), model.estimator, embedding, model.types
            )
            X_test = part.transform(
                table.frame.iloc[test], CellReport(table.input.reading.dialect.decimal)
            )
            P = np.asarray(part.estimator.predict(X_test))
    # Such as a label that is unknown in all remaining rows: then there is no check, but still a
    # model.
    except ValueError as error:
        return f"a fit without them failed ({error})"
    logical, T, T_test = targets.kind == "0/1", targets.truth[train], targets.truth[test]
    if len(np.unique(groups[test][scorable_rows(T_test, logical)])) < 2:
        return "hardly any of them has a label that is known"
    named = table.take(train).named_groups
    fitted = None if model.classifier is None else _fit_classifier(model.estimator, X, T, named)
    classifier = None if fitted is None else np.asarray(fitted.predict(X_test))
    found = score_with_baselines(
        T_test, P, mean_distribution(T), classifier, logical, groups=groups[test]
    )
    found["scores"] = [score.as_dict() for score in found["scores"]]
    return found | {"share": float(share), "seed": seed}


def _fit_classifier(
    estimator: Any, X: Any, T: Matrix, groups: Groups | None = None, max_size: int = 3_000_000
) -> Any:
    """The plain classifier that a method is compared with, for the same meaning of 0.

    None if it is the method itself, would be slow (numbers times labels above ``max_size``) or
    fails: validation does not depend on it.
    """
    zeros: Literal["none", "less"] = "none" if get_tags(estimator).keeps_zeros else "less"
    # A classifier refuses rows without a positive label.
    rows = np.nansum(T, axis=1) > 0
    if isinstance(estimator, FromClassifier) or rows.sum() * X.shape[1] * T.shape[1] > max_size:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = plain_classifier(zeros).fit(
                X[rows], T[rows], groups=None if groups is None else groups[rows]
            )
    except ValueError:
        return None
    del found.label_distributions_  # only its predictions are needed
    return found


def describe_classifier(found: dict[str, Any], logical: bool = True) -> str:
    """That a plain classifier has the better scores (see `score_with_baselines`), if it has by more
    than chance."""
    gain, error = found["classifier_gain"], found["classifier_error"]
    if gain is None or not clearly_better(gain, error, found["groups"]):
        return ""
    interval = (
        f"{gain:.3g} per row, 95 % interval {gain - 1.96 * error:.3g} to {gain + 1.96 * error:.3g}"
    )
    if not logical:
        return f"A plain classifier predicts the degrees better (by {interval})."
    return (
        f"A plain classifier predicts 0/1 labels better (log-likelihood higher by {interval}); this does not show "
        "that its degrees are better."
    )


def describe_signal(held: dict[str, Any]) -> str:
    """Whether the features are informative, by the scores on held-out rows, as a sentence."""
    rows, gain, error = f"{held['rows']:,} held-out rows", held["advantage"], held["standard_error"]
    if held["groups"] < held["rows"]:
        rows += f" in {held['groups']:,} groups"
    likelihood_gain, likelihood_error = held["likelihood_gain"], held["likelihood_error"]
    less_likely = ""
    if likelihood_gain is None:
        finding = "the predictions are{} better than the same mean distribution for every row"
    else:
        finding = (
            "labels are{} likelier if one prediction for all rows is moved towards the predictions"
        )
        finding += f" (slope of the log-likelihood per row {gain:+.3f}, standard error {error:.3f})"
        if clearly_better(-likelihood_gain, likelihood_error, held["groups"]):
            less_likely = (
                "less likely under the predictions than under the mean of the training rows"
            )
            less_likely += f" (log-likelihood per row {likelihood_gain:+.3f}, standard error {likelihood_error:.3f})"
    if held["better_than_baselines"]:
        return f"Informative features: on {rows} {finding.format('')}."
    if gain == error == 0:
        return f"No evidence: the labels of {rows} fit every prediction equally well."
    if clearly_better(gain, error, held["groups"]):
        exaggerated = "Differences between rows may be exaggerated."
        return f"Informative features, but: on {rows} {finding.format('')} and {less_likely}. {exaggerated}"
    also = f" Labels are {less_likely}." if less_likely else ""
    if gain > error:
        chance = "but the difference may be chance; use more rows."
        return f"Not significant: on {rows} {finding.format('')}, {chance}{also}"
    unreliable = "Differences between rows are not reliable."
    return f"Uninformative features: on {rows} {finding.format(' no')}. {unreliable}{also}"


def _check_labels(T: Matrix, labels: Sequence[str], rare: int = 5) -> list[str]:
    """Warnings about labels that are constant or positive in few rows."""
    positive, observed = (T > 0).sum(axis=0), (~np.isnan(T)).sum(axis=0)
    groups = {
        "Labels never seen (positive in no row, so their degrees mean nothing)": positive == 0
    }
    if are_logical(T):
        message = "Labels always positive (1 wherever they are known; use --blank 0 if an empty cell means no)"
        groups[message] = (positive == observed) & (observed > 0)
        message = f"Rare labels (1 in fewer than {rare} rows, so their degrees are unreliable)"
        groups[message] = (positive > 0) & (positive < min(rare, len(T)))
    return [
        f"{text}: {format_list(np.compress(found, labels).tolist())}."
        for text, found in groups.items()
        if found.any()
    ]


def held_out_scores(facts: dict[str, Any]) -> list[Score]:
    """The scores on held-out rows that a model keeps; none if none were held out."""
    held = facts.get("holdout") or {}
    return [Score(**record) for record in held.get("scores", [])]
