"""Degrees for other programs: suggestions for Argilla and Label Studio, soft labels for Hugging Face datasets."""

import io
import json
from typing import Any, Unpack

import numpy as np

from ldlearn.exceptions import ParameterError, import_optional
from ldlearn.tables.files import write_file
from ldlearn.tables.table_files import RowOptions, read_model_rows
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.writing import WrittenTable

PROGRAMS = ("argilla", "label-studio", "datasets")


def write_suggestions(
    data: Any,
    model: str | TableModel,
    output: str,
    *,
    program: str,
    question: str = "label",
    **options: Unpack[RowOptions],
) -> WrittenTable:
    """Write the degrees of the rows of a table for an annotation tool, or for training.

    Rows with labels have their recovered (or given) degrees, others the predicted ones. Labels are suggested whose
    degree is at least ``1 / n_labels``, the largest first.

    Parameters
    ----------
    data : str or DataFrame
    model : str or TableModel
    output : str
    program : {"argilla", "label-studio", "datasets"}
        JSON with suggestions for ``Dataset.records.from_json`` of Argilla; JSON with predictions for the import of
        Label Studio; Parquet with a list column ``soft_labels`` for ``load_dataset`` of Hugging Face's `datasets`. The
        order of the labels is in the metadata of its schema (``labels``, as JSON).
    question : str, default="label"
        Name of the question of the annotation tool.
    id, keep, kind, format, dialect, overwrite, on_message, progress
        As for `ldlearn.reporting.write_browse_page`.

    Returns
    -------
    WrittenTable
    """
    if program not in PROGRAMS:
        raise ParameterError(f"program must be one of {', '.join(PROGRAMS)}, got {program!r}.")
    rows = read_model_rows(data, model, output, **options)
    labels = rows.model.labels
    degrees = rows.predicted if rows.degrees is None else np.where(np.isnan(rows.degrees), rows.predicted, rows.degrees)
    cells = rows.cells.astype(object).where(rows.cells.notna(), None)
    if program == "datasets":
        content: str | bytes = _soft_labels(rows.id, rows.names, cells, degrees, labels)
    else:
        make = _argilla_record if program == "argilla" else _label_studio_task
        fields = cells.to_dict("records")
        each = zip(rows.names, fields, degrees, strict=True)
        records = [make(name, cell, _largest(row, labels), question) for name, cell, row in each]
        content = json.dumps(records, ensure_ascii=False, indent=1, default=str)
    write_file(output, content)
    return WrittenTable(len(degrees), list(labels), output, rows.messages)


def _largest(degrees: Any, labels: tuple[str, ...]) -> dict[str, float]:
    order = np.argsort(-degrees, kind="stable")
    return {labels[j]: float(degrees[j]) for j in order if degrees[j] >= 1.0 / len(labels) - 1e-9}


def _argilla_record(name: str, fields: dict[str, Any], degrees: dict[str, float], question: str) -> dict[str, Any]:
    suggestion = {"value": list(degrees), "score": list(degrees.values()), "agent": "ldlearn"}
    return {"id": name, "fields": fields, "metadata": {}, "suggestions": {question: suggestion}, "responses": {}}


def _label_studio_task(name: str, fields: dict[str, Any], degrees: dict[str, float], question: str) -> dict[str, Any]:
    result = {
        "from_name": question,
        "to_name": next(iter(fields), "text"),
        "type": "choices",
        "value": {"choices": list(degrees)},
    }
    prediction = {"model_version": "ldlearn", "score": sum(degrees.values()), "result": [result]}
    return {"data": {**fields, "item": name, "degrees": degrees}, "predictions": [prediction]}


def _soft_labels(id: str, names: list[str], cells: Any, degrees: Any, labels: tuple[str, ...]) -> bytes:
    pa = import_optional("pyarrow", "tables", "Tables")
    parquet = import_optional("pyarrow.parquet", "tables", "Tables")
    columns = {id: pa.array(names, pa.string())}
    columns |= {name: pa.array(cells[name].tolist()) for name in cells.columns}
    columns["soft_labels"] = pa.array(degrees.tolist(), pa.list_(pa.float32()))
    table = pa.table(columns).replace_schema_metadata({"labels": json.dumps(labels)})
    file = io.BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()
