"""`ldlearn predict`: degrees for new rows, in constant memory."""

from __future__ import annotations

from typing import Any

from ldlearn.cli import options as opt
from ldlearn.cli.console import check_one_stdout, log, progress_unless_printed, report_written
from ldlearn.tables import predict_table
from ldlearn.tables.source import PIPE


def predict(
    data: opt.Data,
    model: opt.Model,
    output: opt.Output = PIPE,
    id: opt.Id = None,
    embedding: opt.Embedding = None,
    format: opt.From = None,
    *,
    dialect: opt.DialectOptions,
    writing: opt.WritingOptions,
    scheduler: opt.Scheduler = None,
    no_clobber: opt.NoClobber = False,
    as_json: opt.Json = False,
) -> None:
    """Predict the degrees of new rows, in constant memory.

    Features are matched by name. The result has the identifier, the columns of --keep, and the labels.

    \b
    ldlearn predict new.parquet --model model.ldl -o out.csv
    ldlearn predict new.csv -m model.ldl --interval 0.9 --flag-far -o out.csv
    ldlearn predict new.csv -m model.ldl --round 3 --keep city,price -o out.xlsx
    zcat new.csv.gz | ldlearn predict - -m model.ldl --to jsonl | head
    """
    check_one_stdout(output, as_json)
    opt.load_embedding(embedding, model)
    wanted: dict[str, Any] = {
        "id": id,
        "format": format,
        "dialect": dialect,
        "overwrite": not no_clobber,
        **vars(writing),
    }
    if scheduler is not None:
        # only with a scheduler: it needs Dask
        from ldlearn.tables.table_parts import predict_parts

        written = predict_parts(data, model, output, scheduler=scheduler, **wanted)
    else:
        written = predict_table(data, model, output, **wanted, on_message=log, progress=progress_unless_printed(output))
    report_written(written, as_json)
