"""What a table model has learned: its description, model card and coefficients, and explanations of
predictions."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn._optional_imports import import_optional
from ldlearn.compose.method_names import method_name
from ldlearn.core.scaling import to_dense
from ldlearn.core.simplex import softmax
from ldlearn.exceptions import ParameterError, TableError
from ldlearn.tables.column_types import CellReport, columns_by_type
from ldlearn.tables.columns import ColumnType
from ldlearn.tables.features import HANDLERS, TfidfEncoder
from ldlearn.tables.files import ReadingOptions, sha256_of, write_file
from ldlearn.tables.formats import open_table
from ldlearn.tables.model_files import load_table_model
from ldlearn.tables.table_files import columns_to_read
from ldlearn.tables.table_fit import describe_signal, held_out_scores
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.values import import_pandas, repr_cell

Matrix = NDArray[np.float64]
_OWN_SECTIONS = ("holdout", "warnings", "columns", "source")


def describe_model(model: TableModel) -> dict[str, Any]:
    """Everything about a model as plain values: method, parameters, columns, training data, scores,
    warnings."""
    return {
        "method": method_name(model.estimator),
        "parameters": _json_values(model.estimator.get_params()),
        "learned": _learned_numbers(model.estimator),
        "selection_summary": getattr(model.estimator, "selection_summary_", ""),
        "certified_gap": certified_gap(model.estimator),
        "features": {"numbers": list(model.numeric), "texts": list(model.categorical)},
        "columns": model.types.describe() | model.facts.get("columns", {}),
        "source": model.facts.get("source", {}),
        "labels": list(model.labels),
        "id": model.id,
        "groups": model.groups,
        "preprocessing": [f"{type_}: {HANDLERS[type_].description}" for type_ in ColumnType],
        "strongest_features": strongest_features(model),
        "degrees": training_degrees(model),
        "data": {key: value for key, value in model.facts.items() if key not in _OWN_SECTIONS},
        "holdout": model.facts.get("holdout"),
        "warnings": model.facts.get("warnings", []),
    }


def describe_file(path: str | os.PathLike[str], method: str | None = None) -> dict[str, Any]:
    """Everything about the model of a file, with its name and SHA-256; ``method`` as in
    `load_model`."""
    model = load_table_model(path, method)  # first, because its errors name the file
    return {"model": os.fspath(path), "sha256": sha256_of(Path(path))} | describe_model(model)


def certified_gap(estimator: Any) -> dict[str, float] | None:
    """How far the recovered degrees can be from the optimum of their step: total and per row; None
    if not certified."""
    gaps = (
        getattr(part, "gap_", None) for part in (estimator, getattr(estimator, "enhancer_", None))
    )
    gap = next((gap for gap in gaps if gap is not None), None)
    return None if gap is None else {"total": float(np.sum(gap)), "per_row": float(np.mean(gap))}


def strongest_features(model: TableModel) -> dict[str, list[tuple[str, float]]] | None:
    """For each label the three largest positive coefficients and their features; None if the model
    is not linear.

    They are taken relative to their mean over the labels, because adding the same to all labels
    changes nothing.
    """
    found = linear_softmax(model.estimator)
    if found is None:
        return None
    relative, names = found[0] - found[0].mean(axis=0), model.preprocessing.feature_names()
    order = np.argsort(-relative, axis=1, kind="stable")[:, :3]
    return {
        label: [(names[j], float(row[j])) for j in largest if row[j] > 0]
        for label, row, largest in zip(model.labels, relative, order, strict=True)
    }


def training_degrees(model: TableModel) -> dict[str, dict[str, Any]] | None:
    """How the recovered degrees of the training rows spread, by label: mean and quartiles; None if
    not kept."""
    D = getattr(model.estimator, "label_distributions_", None)
    if D is None:
        return None
    quartiles = np.quantile(D, [0, 0.25, 0.5, 0.75, 1], axis=0).T
    spread = zip(model.labels, np.mean(D, axis=0), quartiles, strict=True)
    return {
        label: {"mean": float(mean), "quartiles": found.tolist()} for label, mean, found in spread
    }


def _learned_numbers(estimator: Any) -> dict[str, Any]:
    """Fitted attributes that are single numbers: selected penalties, numbers of iterations."""
    learned = {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and np.isscalar(value)
    }
    return _json_values(
        {name: value for name, value in learned.items() if not isinstance(value, str)}
    )


def _json_values(values: dict[str, Any]) -> dict[str, Any]:
    """Values that JSON can hold; others as they print."""
    plain = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in values.items()
    }
    return {
        name: value if value is None or np.isscalar(value) else repr(value)
        for name, value in plain.items()
    }


def write_card(description: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page about a model, as `describe_file` describes it; markup in names is escaped."""
    jinja2 = import_optional("jinja2", "report", "Model cards")
    template = files("ldlearn.tables").joinpath("card.html.j2").read_text(encoding="utf-8")
    # Strict: a missing key is an error, not an empty place in the page.
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    scores = held_out_scores({"holdout": description["holdout"]})
    derived = {
        "scores": scores,
        "verdict": _verdict(description),
        "types": columns_by_type(description["columns"]),
    }
    write_file(path, environment.from_string(template).render(description, **derived))


def _verdict(description: dict[str, Any]) -> dict[str, str]:
    """Whether the model can be relied on, in a sentence."""
    held = description["holdout"]
    if held is None:
        return {
            "class": "unknown",
            "text": "Not validated on held-out rows: its degrees may be unreliable.",
        }
    text = describe_signal(held)
    if not held["better_than_baselines"]:
        return {"class": "bad", "text": text}
    if description["warnings"]:
        return {"class": "unknown", "text": text + " Read the warnings first."}
    return {"class": "good", "text": text}


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
    contributions: Matrix
    degrees: Matrix
    average_degrees: Matrix
    messages: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""

        def by_label(values: Matrix) -> dict[str, float]:
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
    linear = linear_softmax(loaded.estimator)
    if linear is None:
        raise ParameterError(
            f"{type(loaded.estimator).__name__} is not linear, so its predictions are no sum of contributions; "
            "fit DLDL, VoteLDL or SABFGS, without a feature map."
        )
    coef, intercept = linear
    with open_table(loaded.make_input(data, reading)) as source:
        report = CellReport(source.decimal)
        frame = _find_row(source.chunks(columns_to_read(source, loaded, ())), row)
    x = to_dense(loaded.transform(frame, report))[0]
    means = loaded.preprocessing.feature_means
    each = ((coef - coef.mean(axis=0)) * (x - means)).T
    sums = import_pandas().DataFrame(each).groupby(_name_parts(loaded, frame, x), sort=False).sum()
    sums = sums.iloc[np.argsort(-sums.abs().max(axis=1).to_numpy(), kind="stable")]
    degrees, average = softmax(np.stack([x, means]) @ coef.T + intercept)
    return Explanation(
        row,
        loaded.labels,
        sums.index.tolist(),
        sums.to_numpy(),
        degrees,
        average,
        report.messages(),
    )


def _find_row(chunks: Iterator[Any], row: Any) -> Any:
    seen: list[object] = []
    for frame in chunks:
        if len(found := np.flatnonzero(frame.index == row)):
            return frame.iloc[found[:1]]
        seen += [frame.index[0], frame.index[-1]] if len(frame) else []
    known = f"its rows are {seen[0]} to {seen[-1]}" if seen else "the table has no rows"
    raise TableError(f"there is no row {row}; {known}.")


def _name_parts(model: TableModel, frame: Any, x: Matrix) -> list[str]:
    """For each feature the column with its value, or the word; words that the row does not have are
    one part."""
    encoders, columns, parts = model.preprocessing.encoders, set(model.features), []
    for (column, feature), value in zip(
        model.preprocessing.features_with_columns(), x, strict=True
    ):
        if isinstance(encoders.get(column), TfidfEncoder):
            parts.append(feature if value else f"{column}: (absent words)")
        elif column in encoders:
            parts.append(column)
        else:
            column = column if column in columns else column.rpartition(" (")[0]  # a part of a date
            cell = frame[column].iloc[0]
            parts.append(
                f"{column} {cell:.4g}" if isinstance(cell, float) else f"{column} {repr_cell(cell)}"
            )
    return parts


def linear_softmax(estimator: Any) -> tuple[Matrix, Matrix] | None:
    """Coefficients and intercepts of a fitted estimator, or None if its prediction is no softmax of
    linear scores.

    Whether it is one is found by trying, so that methods need not be listed.

    Returns
    -------
    coef, intercept : ndarrays of shape (n_labels, n_features) and (n_labels,), or None

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn import MeanLDL, SABFGS
    >>> X, D = np.array([[0.0], [1.0], [2.0]]), np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> [array.shape for array in linear_softmax(SABFGS().fit(X, D))]
    [(2, 1), (2,)]
    >>> linear_softmax(MeanLDL().fit(X, D)) is None
    True
    """
    inner = estimator
    # The coefficients may lie within: of the learner of two steps, or of the best of several.
    while inner is not None and not hasattr(inner, "coef_"):
        steps = ("learner_", "estimator_", "best_estimator_")
        inner = next((getattr(inner, step) for step in steps if hasattr(inner, step)), None)
    if inner is None or not hasattr(estimator, "_predict"):
        return None
    coef, intercept = (
        np.asarray(inner.coef_, dtype=np.float64),
        np.asarray(inner.intercept_, dtype=np.float64),
    )
    m, c = int(estimator.n_features_in_), len(estimator.label_names_)
    if coef.shape != (c, m) or intercept.shape != (c,):
        return None
    X = np.random.default_rng(0).normal(size=(8, m))
    same = np.allclose(
        softmax(X @ coef.T + intercept), estimator._predict(X), rtol=1e-9, atol=1e-12
    )
    return (coef, intercept) if same else None
