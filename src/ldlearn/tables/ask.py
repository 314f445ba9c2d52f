"""Rows for annotators: which to annotate next, suspicious labels, suggestions for tools."""

import io
import json
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.preprocessing import normalize
from sklearn.utils import get_tags

from ldlearn._messages import check_choice
from ldlearn._optional_imports import import_optional
from ldlearn.core.row_groups import Groups, count_groups, join_groups, rows_of_groups
from ldlearn.core.scaling import to_dense
from ldlearn.core.simplex import Array, Indices, Mask
from ldlearn.exceptions import ParameterError, TableError
from ldlearn.tables.files import PIPE, ReadingOptions, write_file
from ldlearn.tables.formats import check_output, write_table
from ldlearn.tables.labelled_table import describe_repeated_rows, find_groups
from ldlearn.tables.options import ColumnOptions, WritingOptions
from ldlearn.tables.table_files import ModelRows, label_losses, read_model_rows
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.writing import WrittenTable, check_writing

_PROGRAMS = ("argilla", "label-studio", "datasets")
_PRIOR_VOTES = 2.0  # that the prediction counts as, beside the votes of a row
_MAX_CANDIDATES = 5000  # among which similar rows are avoided
_MIN_LABELLED_ROWS = 20  # with labels, to look for suspicious ones
_IMPROBABLE = 0.05  # tail probability of a vote, below which it is suspicious


def ask_table(
    data: Any,
    model: str | TableModel,
    output: str = PIPE,
    *,
    n: int = 50,
    columns: ColumnOptions = ColumnOptions(),
    writing: WritingOptions = WritingOptions(),
    reading: ReadingOptions = ReadingOptions(),
) -> WrittenTable:
    """Write the rows that should be annotated next, and the labels that look wrong.

    The table has the identifier, the texts (or what ``writing.keep`` names), ``rank``, what the
    rank depends on, and ``suspicious``: labels that look wrong, with the probability of what is
    given. The `n` rows to annotate come first, then up to `n` other rows with suspicious labels,
    without a rank.

    Models of 0/1 labels and of degrees rank rows by ``expected_error`` (see `expected_errors`), and
    avoid similar rows (see `choose_rows`). Models of counts of votes that know it rank rows by
    ``vote_gain``: by how much one more vote is expected to reduce the variance of the degrees,
    summed over the labels. Suspicious votes are those with a probability below 0.05, given the
    features and the other votes of the row.

    Parameters
    ----------
    data : str or DataFrame
        The table, with labels (0/1 or votes) of all, some or no rows.
    model : str or TableModel
        The model, or its file.
    output : str, default="-"
    n : int, default=50
        How many rows to ask for.
    columns : ColumnOptions, optional
        Of these ``id``, ``groups``, ``kind`` and ``blank``. Identifier and groups are by default
        those of the fit, if the table has them. Labels are checked by models that are fitted
        without the group of their row.
    writing : WritingOptions, optional
        Of these ``to``, ``raw``, ``keep`` and ``overwrite``.
    reading : ReadingOptions, optional

    Returns
    -------
    WrittenTable
    """
    if n < 1:
        raise ParameterError(f"n must be at least 1, got {n}.")
    writing = check_writing(output, [data, model], writing)
    found = read_model_rows(data, model, columns, writing.keep, reading)
    score_name, scores, asked = _rank_rows(found, n)
    for name in ("rank", score_name, "suspicious"):
        if name in (found.cells.index.name, *found.cells):
            advice = "rename it, or leave it out with keep"
            raise TableError(f"a column of this name would be added; {advice}.", column=name)
    notes, others, messages = _check_labels_of_rows(found)
    others = others[~np.isin(others, asked)][:n]
    places = [*asked, *others]
    written = found.cells.iloc[places].reset_index()
    written["rank"] = [*map(str, range(1, len(asked) + 1)), *[""] * len(others)]
    written[score_name] = scores[places]
    written["suspicious"] = ["; ".join(notes[i]) for i in places]
    write_table(output, [written], writing=writing)
    labels = list(found.model.labels)
    return WrittenTable(len(written), labels, output, found.messages + messages)


def _rank_rows(rows: ModelRows, n: int) -> tuple[str, Array, Indices]:
    """The name of the score by which rows are ranked, the scores, and the n rows to annotate."""
    gains = vote_gains(rows)
    if gains is not None:
        return "vote_gain", gains, np.argsort(-gains, kind="stable")[:n]
    errors = expected_errors(rows.predicted, rows.degrees, rows.n_votes)
    return "expected_error", errors, choose_rows(errors, rows.X, n)


def _check_labels_of_rows(rows: ModelRows) -> tuple[list[list[str]], Indices, list[str]]:
    """Notes on suspicious labels of each row, such rows from the least probable label, messages."""
    notes: list[list[str]] = [[] for _ in rows.recovered]
    groups, n_repeated = find_groups(rows.X, rows.groups)
    messages = describe_repeated_rows(n_repeated, len(groups))
    n_groups = len(np.unique(groups[rows.recovered]))
    enough = rows.recovered.sum() >= _MIN_LABELLED_ROWS
    if n_groups == 1 and enough:
        reason = "all labelled rows are equal or in one group, so none can be held out"
        messages.append(f"Labels are not checked: {reason}.")
    if n_groups < 2 or not enough:
        return notes, np.empty(0, dtype=np.intp), messages
    estimator = rows.model.estimator
    if rows.counts is not None and get_tags(estimator).keeps_zeros:
        reason = f"{type(estimator).__name__} gives degree 0 to labels without votes"
        messages.append(f"Votes are not checked: {reason}.")
        return notes, np.empty(0, dtype=np.intp), messages
    if rows.counts is None:
        labels = np.where(rows.recovered[:, None], rows.labels, np.nan)  # type: ignore[arg-type]
        probabilities = _held_out_probabilities(estimator, rows.X, labels, groups)
        suspicious = _find_suspicious_labels(labels, probabilities)
        messages.append(f"{suspicious.sum():,} labels of {suspicious.size:,} look wrong.")
    else:
        labels = rows.counts
        probabilities, tails = _vote_probabilities(estimator, rows.X, labels, groups)
        suspicious = tails < _IMPROBABLE
        n_improbable = labels[suspicious].sum()
        messages.append(f"{n_improbable:,.10g} votes of {labels.sum():,.10g} are improbable.")
    for i, j in np.argwhere(suspicious):
        label = rows.model.labels[j]
        notes[i].append(f"{label}={labels[i, j]:.10g} ({probabilities[i, j]:.3f})")
    found = np.flatnonzero(suspicious.any(axis=1))
    lowest = np.where(suspicious, probabilities, 1.0)[found].min(axis=1)
    return notes, found[np.argsort(lowest, kind="stable")], messages


def vote_gains(rows: ModelRows) -> Array | None:
    """By how much one more vote is expected to reduce the variance of the degrees of each row.

    None if the model does not know. Without label columns, the rows have no votes.
    """
    estimator = rows.model.estimator
    if not hasattr(estimator, "vote_gain"):
        return None
    counts = np.zeros(rows.predicted.shape) if rows.counts is None else rows.counts
    gains: Array = estimator.vote_gain(rows.X, counts)
    return gains


def expected_errors(
    predicted: Array, degrees: Array | None = None, n_votes: Array | None = None
) -> Array:
    """Expected squared error of the degrees of each row, which a known distribution would remove.

    Votes are drawn from degrees with a Dirichlet prior around the prediction that counts as two
    votes; recovered degrees count as two votes too, unless their number is known. With N votes in
    all and the posterior mean m, the degrees d have the expected squared error
    ``|d - m|^2 + (1 - |m|^2) / (N + 1)``: large if labels and prediction disagree, or if votes of
    further raters are hard to predict. A row without labels has the predicted degrees.
    """
    if degrees is None:
        degrees = np.full(predicted.shape, np.nan)
    if n_votes is None:
        n_votes = np.full(len(predicted), _PRIOR_VOTES)
    known = ~np.isnan(degrees).any(axis=1, keepdims=True)
    votes = np.where(known, n_votes[:, None], 0.0)
    degrees = np.where(known, degrees, predicted)
    mean = (_PRIOR_VOTES * predicted + votes * degrees) / (_PRIOR_VOTES + votes)
    variance = (1.0 - (mean**2).sum(axis=1)) / (_PRIOR_VOTES + votes[:, 0] + 1.0)
    return ((degrees - mean) ** 2).sum(axis=1) + variance


def choose_rows(scores: Array, X: Any, n: int) -> Indices:
    """Rows with large scores that are not alike, the best first.

    Greedy maximisation of the determinant of ``diag(scores) (I + C) diag(scores) / 2``, C the
    cosines between rows (a determinantal point process): the score of a row falls with its
    similarity to rows chosen before.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
    X : array or sparse matrix of shape (n_samples, n_features)
    n : int

    Returns
    -------
    rows : ndarray of shape (min(n, n_samples),)

    Examples
    --------
    >>> import numpy as np
    >>> choose_rows(np.array([1.0, 0.99, 0.9]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 2)
    array([0, 2])
    """
    candidates = np.argsort(-scores, kind="stable")[: max(_MAX_CANDIDATES, n)]
    directions = normalize(X[candidates])
    squares = scores[candidates] ** 2
    n = min(n, len(candidates))
    # Rows of the Cholesky factor of (I + C) / 2.
    factor = np.empty((n, len(candidates)))
    # The squared distance of each row from those chosen.
    residual = np.ones(len(candidates))
    chosen: list[int] = []
    for k in range(n):
        score = squares * residual
        score[chosen] = -1.0
        best = int(np.argmax(score))
        row = 0.5 * to_dense(directions @ directions[best].T).ravel()
        row[best] += 0.5
        factor[k] = (row - factor[:k, best] @ factor[:k]) / np.sqrt(residual[best])
        residual = np.maximum(residual - factor[k] ** 2, 1e-12)
        chosen.append(best)
    return candidates[chosen]


def _fit_folds(
    estimator: Any, X: Any, labels: Array, groups: Groups, known: Indices
) -> Iterator[tuple[Any, Indices]]:
    """Models fitted without some of the known rows, and these rows; groups are held out as a whole.

    Hyperparameters that the estimator has selected are kept.
    """
    selected = {}
    for name in estimator.path_params:
        selected[name] = getattr(estimator, f"{name}_", getattr(estimator, name))
    known_groups = join_groups(groups[known])
    n_groups = count_groups(known_groups)
    folds = KFold(min(5, n_groups), shuffle=True, random_state=0)
    for train_groups, test_groups in folds.split(np.arange(n_groups)):
        train = known[rows_of_groups(known_groups, train_groups)]
        test = known[rows_of_groups(known_groups, test_groups)]
        model = clone(estimator).set_params(**selected)
        # The fit of the model has warned already.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[train], labels[train])
        yield model, test


def _held_out_probabilities(estimator: Any, X: Any, labels: Array, groups: Groups) -> Array:
    """Probability of each given 0/1 label, by models fitted without the group of its row.

    It is NaN where a label is unknown.
    """
    known = np.flatnonzero(~np.isnan(labels).all(axis=1))
    predicted = np.full(labels.shape, np.nan)
    for fitted, test in _fit_folds(estimator, X, labels, groups, known):
        predicted[test] = fitted.predict(X[test])
    probabilities = np.full(labels.shape, np.nan)
    probabilities[known] = np.exp(-label_losses(predicted[known], labels[known]))
    return probabilities


def _vote_probabilities(
    estimator: Any, X: Any, counts: Array, groups: Groups
) -> tuple[Array, Array]:
    """Probability of one vote for each label that has votes, given the other votes of its row.

    It is the expected degree without that vote, by models fitted without the group of the row, and
    NaN where a label has no votes. Of a label with less than one weighted vote all is left out.

    The second matrix has the tail of each vote: the probability of all labels together that are no
    more probable.
    """
    probabilities = np.full(counts.shape, np.nan)
    tails = np.full(counts.shape, np.nan)
    voted = np.flatnonzero(counts.any(axis=1))
    for fitted, test in _fit_folds(estimator, X, counts, groups, voted):
        for label in range(counts.shape[1]):
            rows = test[counts[test, label] > 0]
            if not len(rows):
                continue
            others = counts[rows]
            others[:, label] = np.maximum(others[:, label] - 1.0, 0.0)
            degrees = fitted.enhance(X[rows], others)
            given = degrees[:, [label]]
            probabilities[rows, label] = given[:, 0]
            tails[rows, label] = np.where(degrees <= given, degrees, 0.0).sum(axis=1)
    return probabilities, tails


def _find_suspicious_labels(labels: Array, probabilities: Array) -> Mask:
    """0/1 labels that look wrong, by confident learning for each label (as in cleanlab).

    A label is suspicious if the opposite value is likelier than the given one, and at least as
    likely as it is on average where it was given.

    Parameters
    ----------
    labels : ndarray of shape (n_samples, n_labels)
    probabilities : ndarray of shape (n_samples, n_labels)
        Of the given labels, from held-out predictions.
    """
    suspicious = np.zeros(labels.shape, dtype=bool)
    unlikely = probabilities < 0.5
    for value in (0.0, 1.0):
        opposite = labels == 1.0 - value
        # Of the opposite value, where it was given.
        total = np.where(opposite, probabilities, 0.0).sum(axis=0)
        count = opposite.sum(axis=0)
        usual = total / np.where(count, count, np.nan)
        suspicious |= (labels == value) & unlikely & (1.0 - probabilities >= usual)
    return suspicious


def write_suggestions(
    data: Any,
    model: str | TableModel,
    output: str,
    *,
    program: str,
    question: str = "label",
    columns: ColumnOptions = ColumnOptions(),
    writing: WritingOptions = WritingOptions(),
    reading: ReadingOptions = ReadingOptions(),
) -> WrittenTable:
    """Write the degrees of the rows of a table for an annotation tool, or for training.

    Rows with labels or votes have their recovered (or given) degrees, others the predicted ones.
    Labels are suggested whose degree is at least ``1 / n_labels``, the largest first.

    Parameters
    ----------
    data : str or DataFrame
    model : str or TableModel
    output : str
    program : {"argilla", "label-studio", "datasets"}
        JSON with suggestions for ``Dataset.records.from_json`` of Argilla; JSON with predictions
        for the import of Label Studio; Parquet with a list column ``soft_labels`` for
        ``load_dataset`` of Hugging Face's `datasets`. The order of the labels is in the metadata of
        its schema (``labels``, as JSON).
    question : str, default="label"
        Name of the question of the annotation tool.
    columns : ColumnOptions, optional
        Of these ``id``, ``kind`` and ``blank``.
    writing : WritingOptions, optional
        Of these ``keep`` and ``overwrite``.
    reading : ReadingOptions, optional

    Returns
    -------
    WrittenTable
    """
    check_choice("program", program, _PROGRAMS)
    check_output(output, [data, model], overwrite=writing.overwrite)
    found = read_model_rows(data, model, columns, writing.keep, reading)
    labels = list(found.model.labels)
    degrees = found.predicted
    if found.degrees is not None:
        degrees = np.where(np.isnan(found.degrees), degrees, found.degrees)
    cells = found.cells.astype(object).where(found.cells.notna(), None)
    if program == "datasets":
        write_file(output, _soft_labels_parquet(found, cells, degrees))
        return WrittenTable(len(degrees), labels, output, found.messages)
    records = []
    for name, fields, row in zip(cells.index, cells.to_dict("records"), degrees, strict=True):
        largest = np.argsort(-row, kind="stable")
        largest = largest[row[largest] >= 1.0 / len(labels) - 1e-9]
        suggested = dict(zip(np.take(labels, largest).tolist(), row[largest].tolist(), strict=True))
        if program == "argilla":
            records.append(_argilla_record(name, fields, suggested, question))
        else:
            records.append(_label_studio_task(name, fields, suggested, question))
    write_file(output, json.dumps(records, ensure_ascii=False, indent=1, default=str))
    return WrittenTable(len(degrees), labels, output, found.messages)


def _argilla_record(
    name: str, fields: dict[str, Any], degrees: dict[str, float], question: str
) -> dict[str, Any]:
    suggestion = {
        "value": list(degrees),
        "score": list(degrees.values()),
        "agent": "ldlearn",
    }
    return {
        "id": name,
        "fields": fields,
        "metadata": {},
        "suggestions": {question: suggestion},
        "responses": {},
    }


def _label_studio_task(
    name: str, fields: dict[str, Any], degrees: dict[str, float], question: str
) -> dict[str, Any]:
    result = {
        "from_name": question,
        "to_name": next(iter(fields), "text"),
        "type": "choices",
        "value": {"choices": list(degrees)},
    }
    prediction = {
        "model_version": "ldlearn",
        "score": sum(degrees.values()),
        "result": [result],
    }
    return {
        "data": {
            **fields,
            "item": name,
            "degrees": degrees,
        },
        "predictions": [prediction],
    }


def _soft_labels_parquet(rows: ModelRows, cells: Any, degrees: Array) -> bytes:
    pa = import_optional("pyarrow", "tables", "Tables")
    parquet = import_optional("pyarrow.parquet", "tables", "Tables")
    columns = cells.reset_index().to_dict("list")
    columns["soft_labels"] = pa.array(degrees.tolist(), pa.list_(pa.float32()))
    table = pa.table(columns, metadata={"labels": json.dumps(rows.model.labels)})
    file = io.BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()
