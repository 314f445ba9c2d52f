"""`ldlearn enhance`: degrees for rows whose 0/1 labels are known."""

from __future__ import annotations

from typing import Annotated

import typer

from ldlearn.cli.console import check_one_stdout, progress_beside, say_of_table, show_written
from ldlearn.cli.options import (
    Categorical,
    Data,
    Decimal,
    Delimiter,
    Embedding,
    Encoding,
    Features,
    FlagFar,
    From,
    Id,
    Interval,
    Json,
    Keep,
    KindAsInFit,
    Method,
    NoClobber,
    Output,
    Raters,
    Round,
    SafeCsv,
    Separator,
    Settings,
    To,
    name_embedding,
    parse_settings,
)
from ldlearn.io.source import PIPE
from ldlearn.io.text_style import TextStyle
from ldlearn.models import enhance_table


def enhance(
    data: Data,
    model: Annotated[str | None, typer.Option("--model", "-m", metavar="FILE", help="A fitted model, or:")] = None,
    labels: Annotated[str | None, typer.Option("--labels", "-l", metavar="COLS", help="Labels to fit on.")] = None,
    output: Output = PIPE,
    features: Features = None,
    numeric: KindAsInFit = None,
    categorical: Categorical = None,
    date: KindAsInFit = None,
    text: KindAsInFit = None,
    ignore: KindAsInFit = None,
    id: Id = None,
    method: Method = None,
    set: Settings = None,
    separator: Separator = None,
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
    no_clobber: NoClobber = False,
    as_json: Json = False,
) -> None:
    """Turn the 0/1 labels of rows into degrees: by a fitted model, or by a method.

    \b
    ldlearn enhance data.csv --model model.ldl -o degrees.csv
    ldlearn enhance data.csv --labels sky,sea --method PriorLE -o degrees.csv
    """
    check_one_stdout(output, as_json)
    if (model is None) == (labels is None):
        raise typer.BadParameter("give either --model, or --labels to fit on.", param_hint="--model")
    if model is not None:
        name_embedding(embedding, model)
    elif embedding is not None:
        raise typer.BadParameter("only a model that was fitted with one takes it.", param_hint="--embedding")
    written = enhance_table(
        data,
        output,
        model=model,
        labels=labels,
        features=features,
        numeric=numeric,
        categorical=categorical,
        date=date,
        text=text,
        ignore=ignore,
        id=id,
        method=method,
        params=parse_settings(set) if set else None,
        separator=separator,
        format=format,
        style=TextStyle(delimiter, decimal, encoding),
        say=say_of_table,
        to=to,
        round=round,
        interval=interval,
        raters=raters,
        flag_far=flag_far,
        keep=keep,
        safe_csv=safe_csv,
        overwrite=not no_clobber,
        progress=progress_beside(output),
    )
    show_written(written, as_json)
