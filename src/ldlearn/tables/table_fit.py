"""Fit a model on a table, as the command `fit` does: with scores on held-out rows, and warnings."""

import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from ldlearn._messages import format_list
from ldlearn.base.discovery import installed_versions
from ldlearn.compose.from_classifier import FromClassifier, plain_classifier
from ldlearn.compose.method_names import default_method, make_predictor
from ldlearn.core.row_groups import Groups, count_groups, rows_of_groups
from ldlearn.core.simplex import Array, Mask
from ldlearn.exceptions import ParameterError
from ldlearn.metrics.against_baselines import (
    Score,
    clearly_better,
    scorable_rows,
    score_with_baselines,
)
from ldlearn.tables.column_types import CellReport
from ldlearn.tables.files import ReadingOptions, prefix_errors, sha256_of
from ldlearn.tables.labelled_table import LabelledTable, find_groups, read_labelled
from ldlearn.tables.options import ColumnOptions, Columns
from ldlearn.tables.table_labels import TrainingTargets, are_logical
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.vote_recovery import VoteRecovery, score_recovery

_MAX_CLASSIFIER_SIZE = 3_000_000  # numbers times labels that a plain classifier is fitted on
_RARE = 5  # rows with a label, or votes for it, below which its degrees are unreliable


def fit_table(
    data: Any,
    labels: Columns,
    *,
    method: Any = None,
    params: Mapping[str, Any] | None = None,
    embedding: Any = None,
    holdout: float = 0.2,
    seed: int = 0,
    columns: ColumnOptions = ColumnOptions(),
    reading: ReadingOptions = ReadingOptions(),
) -> TableModel:
    """Fit a model on a table, and validate it on held-out rows; `save_model` writes it to a file.

    Its ``facts`` are figures of the data, scores on the held-out rows, and warnings.

    Parameters
    ----------
    data : str or DataFrame
        The table, or its file; "-" for standard input.
    labels : str or sequence
        The label columns: names, prefixes (``emo_*``), ranges (``x1:x9``), joined by commas. Or one
        column that holds lists of labels.
    method : str or estimator, optional
        See `ldlearn.compose.method_names`; or anything of the library that predicts, unfitted. By
        default `DLDL`, and `CountLDL` if ``columns`` declares votes.
    params : mapping, optional
        Parameters of a method that is given by name.
    embedding : transformer, optional
        What makes numbers of prose; see `TableModel.fit` and `import_embedding`.
    holdout : float, default=0.2
        Fraction of the rows that a second model, fitted on the others only, is scored on; 0 for
        none. The model that is returned is fitted on all rows.
    seed : int, default=0
        Of the random choice of these rows.
    columns : ColumnOptions, optional
        Which columns are features, the types of some, the identifier, and how labels are read.
    reading : ReadingOptions, optional
        How a file is read, and where messages and progress are reported.

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

    if method is None:
        method = default_method(columns.kind)

    def make_estimator(logical: bool = True) -> Any:
        if isinstance(method, str):
            return make_predictor(method, params, logical, columns.zeros)
        return method

    if not isinstance(method, str) and (params or columns.zeros):
        raise ParameterError(
            "params and zeros are for a method given by name; set them in the estimator."
        )
    if not 0 <= holdout < 1:
        raise ParameterError(f"holdout must be at least 0 and below 1, got {holdout:g}.")
    make_estimator()  # wrong parameters fail before the table is read
    table = read_labelled(data, labels, columns, reading)
    estimator = make_estimator(table.labels.is_logical)
    with prefix_errors(table.input.where), reading.progress("fitting", None):
        model = _fit_and_validate(table, estimator, embedding, holdout, seed)
    model.facts["source"] = describe_origin(table.input.where)
    report_assumed_zeros(table, estimator, columns, params)
    return model


def report_assumed_zeros(
    table: LabelledTable,
    estimator: Any,
    columns: ColumnOptions,
    params: Mapping[str, Any] | None,
) -> None:
    """Report what a 0 is taken for, unless the user says what it means."""
    on_message = table.input.reading.on_message
    if on_message is not None and columns.zeros is None and "zeros" not in (params or {}):
        table.labels.report_zeros(estimator, on_message)


def describe_origin(name: str) -> dict[str, str]:
    """Name and checksum of a table file, date and version of ldlearn: for the card of a model."""
    path = Path(name)
    origin = {
        "file": path.name.encode(errors="backslashreplace").decode(),  # it need not be UTF-8
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "ldlearn": installed_versions()["ldlearn"],
    }
    if path.is_file():
        origin["sha256"] = sha256_of(path)
    return origin


def _fit_and_validate(
    table: LabelledTable, estimator: Any, embedding: Any, holdout: float, seed: int
) -> TableModel:
    # Kept with the model, so that readers of its file or its card see the warnings, too.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, X, targets = TableModel.fit_labelled(table, estimator, embedding)
    found: dict[str, Any] | str = "none were asked for"
    scores = []
    if holdout > 0:
        if targets.kind == "0/1":
            model.classifier = _fit_plain_classifier(
                model.estimator, X, targets.truth, table.named_groups
            )
        groups, _ = find_groups(X, table.named_groups)
        found = _score_held_out(table, model, targets, groups, embedding, holdout, seed)
    if isinstance(found, str):
        scores.append(f"The model was not validated on held-out rows: {found}.")
    else:
        model.facts["holdout"] = found
        if not found["better_than_baselines"]:
            scores.append(describe_signal(found))
        scores.append(describe_classifier(found))
        scores.append(found.pop("recovery_warning", ""))
    model.facts["warnings"] = [
        *dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught),
        *_check_labels(targets, model.labels),
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
    n_groups = count_groups(groups)
    if len(groups) < 30:
        return f"{len(groups)} rows are too few to hold some out"
    # One group has no standard error.
    n_test = min(max(2, round(share * n_groups)), n_groups - 1)
    if n_test < 2:
        return (
            f"with equal rows taken together there are {n_groups} groups, "
            "and no more than one can be held out"
        )
    order = np.random.default_rng(seed).permutation(n_groups)
    test = np.sort(rows_of_groups(groups, order[:n_test]))
    train = np.sort(rows_of_groups(groups, order[n_test:]))
    training_table = table.take(train)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # A clone of the estimator; the types of columns are those of all rows, so that both
            # models see the same features.
            part, X, _ = TableModel.fit_labelled(
                training_table, model.estimator, embedding, model.types
            )
            report = CellReport(table.decimal)
            X_test = part.transform(table.frame.take(test), report)
            P = part.estimator.predict(X_test)
    # Such as a label that is unknown in all remaining rows: then there is no check, but still a
    # model.
    except ValueError as error:
        return f"a fit without them failed ({error})"
    logical = targets.kind == "0/1"
    T = targets.truth[train]
    T_test = targets.truth[test]
    if len(np.unique(groups[test][scorable_rows(T_test, logical)])) < 2:
        if targets.counts is not None:
            return "hardly any of them has votes"
        return "hardly any of them has a label that is known"
    n_votes = None
    if targets.counts is not None:
        n_votes = targets.counts[test].sum(axis=1)
    by_classifier = classifier = None
    if model.classifier is not None:
        classifier = _fit_plain_classifier(model.estimator, X, T, training_table.named_groups)
    if classifier is not None:
        by_classifier = classifier.predict(X_test)
    mean = np.asarray(part.facts["mean_distribution"])
    found = score_with_baselines(
        T_test, P, mean, by_classifier, logical, n_votes=n_votes, groups=groups[test]
    )
    found["scores"] = [score.as_dict() for score in found["scores"]]
    if targets.counts is not None:
        recovery, warning = score_recovery(
            part.estimator, X_test, targets.counts[test], groups[test], seed
        )
        found["recovery"] = None if recovery is None else recovery.as_dict()
        found["recovery_warning"] = warning
    return found | {"share": float(share), "seed": seed}


def _fit_plain_classifier(estimator: Any, X: Any, T: Array, groups: Groups | None) -> Any:
    """The plain classifier that a method is compared with, for the same meaning of 0.

    None if it is the method itself, would be slow or fails: validation does not depend on it.
    """
    # A classifier refuses rows without a positive label.
    rows = np.nansum(T, axis=1) > 0
    size = rows.sum() * X.shape[1] * T.shape[1]
    if isinstance(estimator, FromClassifier) or size > _MAX_CLASSIFIER_SIZE:
        return None
    classifier = plain_classifier("none" if get_tags(estimator).keeps_zeros else "less")
    if groups is not None:
        groups = groups[rows]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classifier.fit(X[rows], T[rows], groups=groups)
    except ValueError:
        return None
    del classifier.label_distributions_  # only its predictions are needed
    return classifier


def describe_classifier(found: dict[str, Any], logical: bool = True) -> str:
    """That a plain classifier has the better scores, if it has by more than chance.

    ``found`` is what `score_with_baselines` returns.
    """
    gain = found["classifier_gain"]
    error = found["classifier_error"]
    if gain is None or not clearly_better(gain, error, found["groups"]):
        return ""
    low = gain - 1.96 * error
    high = gain + 1.96 * error
    interval = f"{gain:.3g} per row, 95 % interval {low:.3g} to {high:.3g}"
    if found["votes"] is not None:
        gained = f"log-probability higher by {interval}"
        return f"A plain classifier predicts the votes better ({gained})."
    if not logical:
        return f"A plain classifier predicts the degrees better (by {interval})."
    return (
        f"A plain classifier predicts 0/1 labels better (log-likelihood higher by {interval}); "
        "this does not show that its degrees are better."
    )


def describe_signal(held: dict[str, Any]) -> str:
    """Whether the features are informative, by the scores on held-out rows, as a sentence."""
    rows = f"{held['rows']:,} held-out rows"
    gain = held["advantage"]
    error = held["standard_error"]
    if held["groups"] < held["rows"]:
        rows += f" in {held['groups']:,} groups"
    finding = "the predictions are{} better than the same mean distribution for every row"
    votes = held.get("votes")
    if votes is not None:
        rows += f" ({votes:,.10g} votes)"
        finding = (
            "the votes are{} likelier under the predictions than under the shares of all training "
            f"votes (log-probability per vote {gain:+.3f}, standard error {error:.3f})"
        )
    less_likely = ""
    likelihood_gain = held["likelihood_gain"]
    if likelihood_gain is not None:
        finding = (
            "labels are{} likelier if one prediction for all rows is moved towards the predictions"
            f" (slope of the log-likelihood per row {gain:+.3f}, standard error {error:.3f})"
        )
        likelihood_error = held["likelihood_error"]
        if clearly_better(-likelihood_gain, likelihood_error, held["groups"]):
            less_likely = (
                "less likely under the predictions than under the mean of the training rows (log-"
                f"likelihood per row {likelihood_gain:+.3f}, standard error {likelihood_error:.3f})"
            )
    if held["better_than_baselines"]:
        return f"Informative features: on {rows} {finding.format('')}."
    if gain == error == 0 and votes is not None:
        constant = "the predictions are the shares of all training votes, the same for every row"
        return f"Uninformative features: on {rows} {constant}."
    if gain == error == 0:
        return f"No evidence: the labels of {rows} fit every prediction equally well."
    if clearly_better(gain, error, held["groups"]):
        return (
            f"Informative features, but: on {rows} {finding.format('')} and {less_likely}. "
            "Differences between rows may be exaggerated."
        )
    if gain > error:
        chance = "but the difference may be chance; use more rows."
        verdict = f"Not significant: on {rows} {finding.format('')}, {chance}"
    else:
        unreliable = "Differences between rows are not reliable."
        verdict = f"Uninformative features: on {rows} {finding.format(' no')}. {unreliable}"
    return f"{verdict} Labels are {less_likely}." if less_likely else verdict


def _check_labels(targets: TrainingTargets, labels: Sequence[str]) -> list[str]:
    """Warnings about labels that are constant, or positive in few rows."""
    if targets.counts is not None:
        return _check_voted_labels(targets.counts, labels)
    T = targets.truth
    positive = (T > 0).sum(axis=0)
    observed = (~np.isnan(T)).sum(axis=0)
    never = "Labels never seen (positive in no row, so their degrees mean nothing)"
    always = (
        "Labels always positive (1 wherever they are known; "
        "use --blank 0 if an empty cell means no)"
    )
    rare = f"Rare labels (1 in fewer than {_RARE} rows, so their degrees are unreliable)"
    found = {never: positive == 0}
    if are_logical(T):
        found[always] = (positive == observed) & (observed > 0)
        found[rare] = (positive > 0) & (positive < min(_RARE, len(T)))
    return _list_labels(found, labels)


def _check_voted_labels(counts: Array, labels: Sequence[str]) -> list[str]:
    """Warnings about labels with few votes or none."""
    n_votes = counts.sum(axis=0)
    never = "Labels without votes (so their degrees mean nothing)"
    rare = f"Rare labels (fewer than {_RARE} votes, so their degrees are unreliable)"
    is_rare = (n_votes > 0) & (n_votes < min(_RARE, len(counts)))
    return _list_labels({never: n_votes == 0, rare: is_rare}, labels)


def _list_labels(found: dict[str, Mask], labels: Sequence[str]) -> list[str]:
    """A sentence for each text about some labels."""
    warnings = []
    for text, mask in found.items():
        if mask.any():
            warnings.append(f"{text}: {format_list(np.compress(mask, labels).tolist())}.")
    return warnings


def held_out_recovery(facts: dict[str, Any]) -> VoteRecovery | None:
    """The recovery of votes on held-out rows that a model keeps, if it was scored."""
    record = (facts["holdout"] or {}).get("recovery")
    return None if record is None else VoteRecovery(**record)


def held_out_scores(facts: dict[str, Any]) -> list[Score]:
    """The scores on held-out rows that a model keeps; none if none were held out."""
    held = facts["holdout"] or {"scores": []}
    return [Score(**record) for record in held["scores"]]
