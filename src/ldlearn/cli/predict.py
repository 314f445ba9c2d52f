"""`ldlearn predict`: degrees for new rows, in constant memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from ldlearn.cli.console import check_one_stdout, note, progress, show_json, size_of
from ldlearn.cli.options import Data, From, Id, Json, Model, Output, To
from ldlearn.errors import TableError, some
from ldlearn.io.formats import check_output, format_of, open_output, open_table
from ldlearn.io.source import PIPE, Kind, Source
from ldlearn.io.values import import_pandas
from ldlearn.models import TableModel, load_model
from ldlearn.models.table_model import check_columns


def predict(
    data: Data,
    model: Model,
    output: Output = PIPE,
    id: Id = None,
    format: From = None,
    to: To = None,
    as_json: Json = False,
) -> None:
    """Predict the degrees of new rows; tables larger than the memory are fine.

    The feature columns are found by name, in any order. The result has the id, if there is one, and the labels.

    \b
    ldlearn predict new.parquet --model model.ldl -o out.csv
    zcat new.csv.gz | ldlearn predict - -m model.ldl --to jsonl | head
    """
    loaded = load_table_model(model)
    stream(data, loaded, loaded.predict, (), output, id, format, to, as_json)


def load_table_model(path: str) -> TableModel:
    """The model of a file, which must be one for tables."""
    loaded = load_model(path)
    if not isinstance(loaded, TableModel):
        raise TableError(
            f"{path}: it holds a bare {type(loaded).__name__} without column names; use it from Python by "
            "ldlearn.models.load_model."
        )
    return loaded


def stream(
    data: str,
    model: TableModel,
    work: Callable[[Any], Any],
    labels: tuple[str, ...],
    output: str,
    id: str | None,
    format: str | None,
    to: str | None,
    as_json: bool,
) -> None:
    """Send a table through a model, piece by piece; ``labels`` are columns needed besides the features."""
    check_one_stdout(output, as_json)
    check_output(output)
    format_of(output, to)
    rows = 0
    with progress("rows", size_of(data), is_bytes=True) as advance, open_table(data, format, advance) as source:
        kept = _id_column(source, model, id)
        kinds = column_kinds(source, model, labels, kept)
        with open_output(output, model.labels, to) as sink:
            for frame in source.chunks(kinds):
                sink.write(_result(frame, work(frame), kept))
                rows += len(frame)
            if not rows:  # a table without rows still has columns
                sink.write(_result(_empty(kinds), _empty(dict.fromkeys(model.labels, "number")), kept))
    if as_json:
        show_json({"rows": rows, "labels": list(model.labels), "output": output})
    elif output != PIPE:
        typer.echo(f"{rows:,} rows: {output}")


def column_kinds(source: Source, model: TableModel, labels: tuple[str, ...], id: str | None = None) -> dict[str, Kind]:
    """The columns to read; missing ones are an error, superfluous ones a note."""
    check_columns(source.names, model.features, "feature")
    check_columns(source.names, labels, "label")
    known = {*model.features, *model.labels, id, model.id}
    ignored = [name for name in source.names if name not in known]
    if ignored:
        note(f"note: columns that the model does not know are ignored: {some(ignored)}.")
    kinds: dict[str, Kind] = dict.fromkeys(model.numeric, "number")
    kinds |= dict.fromkeys(model.categorical, "text")
    kinds |= dict.fromkeys(labels, "any")
    return kinds if id is None or id in kinds else {id: "text", **kinds}


def _id_column(source: Source, model: TableModel, id: str | None) -> str | None:
    if id is not None:
        check_columns(source.names, [id], "id")
        if id in model.labels:
            raise TableError(f"the column {id!r} is a label and cannot be the id.")
        return id
    return model.id if model.id in source.names else None


def _empty(kinds: dict[str, Kind] | dict[str, str]) -> Any:
    pandas = import_pandas()
    return pandas.DataFrame(
        {name: pandas.Series(dtype="float64" if kind == "number" else object) for name, kind in kinds.items()}
    )


def _result(frame: Any, degrees: Any, id: str | None) -> Any:
    if id is not None:
        degrees.insert(0, id, row_names(frame[id]))
    return degrees


def row_names(series: Any) -> Any:
    """The id column as texts, as it came; only a missing one stays empty."""
    missing = series.isna().to_numpy()
    names = ["" if gone else str(value) for value, gone in zip(series.tolist(), missing, strict=True)]
    return import_pandas().Series(names, dtype=object).to_numpy()
