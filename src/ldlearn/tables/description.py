"""What a table model has learned: description, model card, and explanations of predictions."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn._optional_imports import import_optional
from ldlearn.compose.method_names import method_name
from ldlearn.core.scaling import to_dense
from ldlearn.core.simplex import Array, softmax
from ldlearn.exceptions import ParameterError, TableError
from ldlearn.metrics.against_baselines import describe_vote_scores
from ldlearn.tables.column_types import CellReport, columns_by_type
from ldlearn.tables.columns import ColumnType
from ldlearn.tables.features import TYPE_HANDLERS, TfidfEncoder
from ldlearn.tables.files import FilePath, ReadingOptions, sha256_of, write_file
from ldlearn.tables.formats import open_table
from ldlearn.tables.model_files import load_table_model
from ldlearn.tables.table_files import columns_to_read
from ldlearn.tables.table_fit import describe_signal, held_out_recovery, held_out_scores
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.values import import_pandas, repr_cell

_OWN_SECTIONS = ("holdout", "warnings", "columns", "source")


def describe_model(model: TableModel) -> dict[str, Any]:
    """Everything about a model as plain values, from method and columns to scores and warnings."""
    estimator = model.estimator
    facts = model.facts
    return {
        "method": method_name(estimator),
        "parameters": _json_values(estimator.get_params()),
        "learned": _learned_numbers(estimator),
        "selection_summary": getattr(estimator, "selection_summary_", ""),
        "certified_gap": _certified_gap(estimator),
        "features": {"numbers": list(model.numeric), "texts": list(model.categorical)},
        "columns": facts["columns"],
        "source": facts["source"],
        "labels": list(model.labels),
        "id": model.id,
        "groups": model.groups,
        "preprocessing": [f"{type_}: {TYPE_HANDLERS[type_].description}" for type_ in ColumnType],
        "strongest_features": strongest_features(model),
        "degrees": _training_degrees(model),
        "data": {key: value for key, value in facts.items() if key not in _OWN_SECTIONS},
        "holdout": facts["holdout"],
        "warnings": facts["warnings"],
    }


def describe_file(path: FilePath, method: str | None = None) -> dict[str, Any]:
    """`describe_model` of a file, with its name and SHA-256; ``method`` as in `load_model`."""
    model = load_table_model(path, method)  # first, because its errors name the file
    return {"model": str(path), "sha256": sha256_of(Path(path))} | describe_model(model)


def _certified_gap(estimator: Any) -> dict[str, float] | None:
    """How far the recovered degrees can be from the optimum of their step; None if unknown."""
    for part in (estimator, getattr(estimator, "enhancer_", None)):
        gap = getattr(part, "gap_", None)
        if gap is not None:
            return {"total": float(np.sum(gap)), "per_row": float(np.mean(gap))}
    return None


def strongest_features(model: TableModel) -> dict[str, list[tuple[str, float]]] | None:
    """For each label its three largest positive coefficients; None if the model is not linear.

    They are taken relative to their mean over the labels, because adding the same to all labels
    changes nothing.
    """
    found = softmax_coefficients(model.estimator)
    if found is None:
        return None
    names = model.preprocessing.feature_names()
    relative = found[0] - found[0].mean(axis=0)
    strongest = {}
    for label, row in zip(model.labels, relative, strict=True):
        largest = np.argsort(-row, kind="stable")[:3]
        strongest[label] = [(names[j], float(row[j])) for j in largest if row[j] > 0]
    return strongest


def _training_degrees(model: TableModel) -> dict[str, dict[str, Any]] | None:
    """Mean and quartiles of the training rows' recovered degrees, by label; None if not kept."""
    D = getattr(model.estimator, "label_distributions_", None)
    if D is None:
        return None
    quartiles = np.quantile(D, [0, 0.25, 0.5, 0.75, 1], axis=0).T
    found = {}
    for label, mean, each in zip(model.labels, D.mean(axis=0), quartiles, strict=True):
        found[label] = {"mean": float(mean), "quartiles": each.tolist()}
    return found


def _learned_numbers(estimator: Any) -> dict[str, Any]:
    """Fitted attributes that are single numbers: selected penalties, numbers of iterations."""
    numbers = {}
    for name, value in vars(estimator).items():
        if name.endswith("_") and np.isscalar(value) and not isinstance(value, str):
            numbers[name] = value
    return _json_values(numbers)


def _json_values(values: dict[str, Any]) -> dict[str, Any]:
    """Values that JSON can hold; others as they print."""
    plain = {}
    for name, value in values.items():
        if isinstance(value, np.generic):
            value = value.item()
        elif value is not None and not np.isscalar(value):
            value = repr(value)
        plain[name] = value
    return plain


def describe_votes(data: dict[str, Any]) -> str:
    """Votes per row, and rows with a single vote or none; empty if the labels are no votes.

    ``data`` are the facts of a model, or that section of `describe_model`.
    """
    votes = data.get("votes")
    if votes is None:
        return ""
    voted = votes["voted_rows"]
    per_row = votes["total"] / max(voted, 1)
    single = votes["single_vote_rows"]
    text = f"{per_row:.2f} votes per row on average; rows with a single vote: {single:,}"
    if unvoted := data["rows"] - voted:
        text += f"; rows without votes: {unvoted:,}"
    return text


def write_card(description: dict[str, Any], path: FilePath) -> None:
    """Write the page about a model, as `describe_file` describes it; markup in names is escaped."""
    jinja2 = import_optional("jinja2", "report", "Model cards")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ldlearn.tables", ""),
        autoescape=True,
        # A missing key is an error, not an empty place in the page.
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("card.html.j2").render(
        description,
        scores=held_out_scores({"holdout": description["holdout"]}),
        recovery=held_out_recovery({"holdout": description["holdout"]}),
        votes=describe_votes(description["data"]),
        vote_scores=describe_vote_scores(len(description["labels"])),
        verdict=_describe_reliability(description),
        types=columns_by_type(description["columns"]),
    )
    write_file(path, page)


def _describe_reliability(description: dict[str, Any]) -> dict[str, str]:
    """Whether the model can be relied on, in a sentence."""
    held = description["holdout"]
    verdict = "unknown"
    text = "Not validated on held-out rows: its degrees may be unreliable."
    if held is not None:
        text = describe_signal(held)
        if not held["better_than_baselines"]:
            verdict = "bad"
        elif description["warnings"]:
            text += " Read the warnings first."
        else:
            verdict = "good"
    return {"class": verdict, "text": text}


@dataclass(frozen=True)
class Explanation:
    """Contributions to the log-degrees of one row, compared with the average training row.

    With ``z = ln d - mean(ln d)``, the centred log-degrees, the contributions sum exactly to the
    difference of z between the row and the average row (the row of mean features).

    Attributes
    ----------
    row : object
        Its number, or its label in the index of a data frame.
    labels : tuple of str
    parts : list of str
        Columns with their values, and words; the largest contributions first.
    contributions : ndarray of shape (n_parts, n_labels)
    degrees, average_degrees : ndarray of shape (n_labels,)
        Predicted for the row, and for the average row.
    messages : list of str
        What the user should know.
    """

    row: object
    labels: tuple[str, ...]
    parts: list[str]
    contributions: Array
    degrees: Array
    average_degrees: Array
    messages: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""

        def by_label(values: Array) -> dict[str, float]:
            return dict(zip(self.labels, values.tolist(), strict=True))

        parts = zip(self.parts, self.contributions, strict=True)
        return {
            "row": self.row,
            "degrees": by_label(self.degrees),
            "average_degrees": by_label(self.average_degrees),
            "contributions": [{"part": part, **by_label(values)} for part, values in parts],
        }


def explain_row(
    data: Any, model: str | TableModel, row: Any, *, reading: ReadingOptions = ReadingOptions()
) -> Explanation:
    """Explain the prediction for one row by the contributions of its words and columns.

    Exact for models whose prediction is a softmax of linear scores (`DLDL`, `SABFGS`, ...); others
    are refused.

    Parameters
    ----------
    data : str or DataFrame
        The table; "-" for standard input.
    model : str or TableModel
        The model, or its file.
    row : int or label
        The number of the row as in messages (the header is row 1); of a data frame its label in the
        index.
    reading : ReadingOptions, optional

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import pandas as pd
    >>> from ldlearn import DLDL
    >>> from ldlearn.tables import TableModel, explain_row
    >>> table = pd.DataFrame(
    ...     {"height": [1.0, 2.0, 7.0, 8.0], "sea": [1, 1, 1, 0], "mountain": [0, 0, 1, 1]}
    ... )
    >>> model = TableModel.fit(
    ...     table, labels=["sea", "mountain"], estimator=DLDL(beta=0.1, gamma=0.1)
    ... )
    >>> found = explain_row(table, model, 3)
    >>> found.parts, bool(found.contributions[0, 1] > 0)
    (['height 8'], True)
    """
    loaded = load_table_model(model)
    linear = softmax_coefficients(loaded.estimator)
    if linear is None:
        problem = f"{type(loaded.estimator).__name__} is not linear"
        raise ParameterError(
            f"{problem}, so its predictions are no sum of contributions; "
            "fit DLDL, VoteLDL or SABFGS, without a feature map."
        )
    coef, intercept = linear
    with open_table(loaded.make_input(data, reading)) as source:
        report = CellReport(source.decimal)
        frame = _find_row(source.chunks(columns_to_read(source, loaded, with_labels=False)), row)
    x = to_dense(loaded.transform(frame, report))[0]
    means = loaded.preprocessing.feature_means
    each = import_pandas().DataFrame((coef - coef.mean(axis=0)).T * (x - means)[:, None])
    sums = each.groupby(_name_parts(loaded, frame, x), sort=False).sum()
    sums = sums.iloc[np.argsort(-sums.abs().max(axis=1).to_numpy(), kind="stable")]
    degrees, average = softmax(np.stack([x, means]) @ coef.T + intercept)
    parts = sums.index.tolist()
    messages = report.messages()
    return Explanation(
        row,
        loaded.labels,
        parts,
        sums.to_numpy(),
        degrees,
        average,
        messages,
    )


def _find_row(chunks: Iterator[Any], row: Any) -> Any:
    seen: list[object] = []
    for frame in chunks:
        found = np.flatnonzero(frame.index == row)
        if len(found):
            return frame.take(found[:1])
        seen += [*frame.index[:1], *frame.index[-1:]]
    known = "the table has no rows"
    if seen:
        known = f"its rows are {seen[0]} to {seen[-1]}"
    raise TableError(f"there is no row {row}; {known}.")


def _name_parts(model: TableModel, frame: Any, x: Array) -> list[str]:
    """For each feature the column with its value, or the word; absent words are one part."""
    encoders = model.preprocessing.encoders
    columns = set(model.features)
    parts = []
    for (column, part), value in zip(model.preprocessing.features_with_columns(), x, strict=True):
        if column not in encoders:
            if column not in columns:  # a part of a datetime
                column = column.rpartition(" (")[0]
            cell = frame[column].iloc[0]
            text = f"{cell:.4g}" if isinstance(cell, float) else repr_cell(cell)
            part = f"{column} {text}"
        elif not isinstance(encoders[column], TfidfEncoder):
            part = column
        elif not value:
            part = f"{column}: (absent words)"
        parts.append(part)
    return parts


def softmax_coefficients(estimator: Any) -> tuple[Array, Array] | None:
    """Coefficients and intercepts if predictions are a softmax of linear scores, otherwise None.

    Whether it is one is found by trying, so that methods need not be listed.

    Returns
    -------
    coef, intercept : ndarrays of shape (n_labels, n_features) and (n_labels,), or None

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn import MeanLDL, SABFGS
    >>> X, D = np.array([[0.0], [1.0], [2.0]]), np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> [array.shape for array in softmax_coefficients(SABFGS().fit(X, D))]
    [(2, 1), (2,)]
    >>> softmax_coefficients(MeanLDL().fit(X, D)) is None
    True
    """
    inner = estimator
    # The coefficients may lie within: of the learner of two steps, or of the best of several.
    while inner is not None and not hasattr(inner, "coef_"):
        steps = ("learner_", "estimator_", "best_estimator_")
        inner = next((getattr(inner, step) for step in steps if hasattr(inner, step)), None)
    if inner is None or not hasattr(estimator, "_predict"):
        return None
    coef = np.asarray(inner.coef_, dtype=np.float64)
    intercept = np.asarray(inner.intercept_, dtype=np.float64)
    n_labels = len(estimator.label_names_)
    if coef.shape != (n_labels, estimator.n_features_in_) or intercept.shape != (n_labels,):
        return None
    X = np.random.default_rng(0).normal(size=(8, estimator.n_features_in_))
    expected = softmax(X @ coef.T + intercept)
    if not np.allclose(expected, estimator._predict(X), rtol=1e-9, atol=1e-12):
        return None
    return coef, intercept
