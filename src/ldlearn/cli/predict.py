"""`ldlearn predict`: degrees for new rows, in constant memory."""

from __future__ import annotations

from typing import Any

from ldlearn.cli.console import check_one_stdout, progress_beside, say_of_table, show_written
from ldlearn.cli.options import (
    Data,
    Decimal,
    Delimiter,
    Embedding,
    Encoding,
    FlagFar,
    From,
    Id,
    Interval,
    Json,
    Keep,
    Model,
    NoClobber,
    Output,
    Raters,
    Round,
    SafeCsv,
    Scheduler,
    To,
    name_embedding,
)
from ldlearn.io.source import PIPE
from ldlearn.io.text_style import TextStyle
from ldlearn.models import predict_table


def predict(
    data: Data,
    model: Model,
    output: Output = PIPE,
    id: Id = None,
    embedding: Embedding = None,
    format: From = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    to: To = None,
    round: Round = None,
    interval: Interval = None,
    raters: Raters = None,
    flag_far: FlagFar = False,
    keep: Keep = None,
    safe_csv: SafeCsv = False,
    scheduler: Scheduler = None,
    no_clobber: NoClobber = False,
    as_json: Json = False,
) -> None:
    """Predict the degrees of new rows; tables larger than the memory are fine.

    Features are found by name. The result has the id, what --keep names, and the labels.

    \b
    ldlearn predict new.parquet --model model.ldl -o out.csv
    ldlearn predict new.csv -m model.ldl --interval 0.9 --flag-far -o out.csv
    ldlearn predict new.csv -m model.ldl --round 3 --keep city,price -o out.xlsx
    zcat new.csv.gz | ldlearn predict - -m model.ldl --to jsonl | head
    """
    check_one_stdout(output, as_json)
    name_embedding(embedding, model)
    wanted: dict[str, Any] = {
        "id": id,
        "format": format,
        "style": TextStyle(delimiter, decimal, encoding),
        "to": to,
        "round": round,
        "interval": interval,
        "raters": raters,
        "flag_far": flag_far,
        "keep": keep,
        "safe_csv": safe_csv,
        "overwrite": not no_clobber,
    }
    if scheduler is not None:
        from ldlearn.models.table_parts import predict_parts

        written = predict_parts(data, model, output, scheduler=scheduler, **wanted)
    else:
        written = predict_table(data, model, output, **wanted, say=say_of_table, progress=progress_beside(output))
    show_written(written, as_json)
