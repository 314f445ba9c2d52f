"""`ldlearn enhance`: degrees for rows whose 0/1 labels are known."""

from __future__ import annotations

from typing import Annotated

import typer

from ldlearn.cli.console import check_one_stdout, note, show_json
from ldlearn.cli.options import (
    Categorical,
    Data,
    Features,
    From,
    Id,
    Json,
    Method,
    Output,
    Settings,
    To,
    parse_settings,
)
from ldlearn.cli.predict import load_table_model, row_names, stream
from ldlearn.cli.training import Wanted, name_in_messages, read_training
from ldlearn.io.formats import check_output, format_of, naming, open_output
from ldlearn.io.source import PIPE
from ldlearn.models import TableError, TableModel
from ldlearn.models.method_names import DEFAULT_METHOD, make_enhancer
from ldlearn.models.quality_checks import training_distributions


def enhance(
    data: Data,
    model: Annotated[str | None, typer.Option("--model", "-m", metavar="FILE", help="A fitted model, or:")] = None,
    labels: Annotated[str | None, typer.Option("--labels", "-l", metavar="COLS", help="Labels to fit on.")] = None,
    output: Output = PIPE,
    features: Features = None,
    categorical: Categorical = None,
    id: Id = None,
    method: Method = DEFAULT_METHOD,
    set: Settings = None,
    format: From = None,
    to: To = None,
    as_json: Json = False,
) -> None:
    """Turn the 0/1 labels of rows into degrees: by a fitted model, or by a method.

    \b
    ldlearn enhance data.csv --model model.ldl -o degrees.csv
    ldlearn enhance data.csv --labels sky,sea --method PriorLE -o degrees.csv
    """
    if (model is None) == (labels is None):
        raise typer.BadParameter("give either --model, or --labels to fit on.", param_hint="--model")
    if model is not None:
        _by_model(data, model, output, id, format, to, as_json)
        return
    check_one_stdout(output, as_json)
    check_output(output)
    format_of(output, to)
    estimator = make_enhancer(method, parse_settings(set))
    table, chosen = read_training(data, format, Wanted(labels or "", features, categorical, id))
    with naming(name_in_messages(data)):
        fitted = TableModel.fit(
            table,
            chosen.labels,
            features=chosen.features,
            estimator=estimator,
            categorical=chosen.categorical,
            id=chosen.id,
        )
        degrees = training_distributions(fitted, table)
    if chosen.id is not None:
        degrees.insert(0, chosen.id, row_names(table[chosen.id]))
    with open_output(output, chosen.labels, to) as sink:
        sink.write(degrees)
    if as_json:
        show_json({"rows": len(degrees), "labels": chosen.labels, "output": output})
    elif output != PIPE:
        typer.echo(f"{len(degrees):,} rows: {output}")


def _by_model(
    data: str, model: str, output: str, id: str | None, format: str | None, to: str | None, as_json: bool
) -> None:
    loaded = load_table_model(model)
    if not loaded.can_enhance:
        name = type(loaded.estimator).__name__
        raise TableError(
            f"{model}: {name} gives degrees only to the rows it was fitted on; use `ldlearn enhance --labels ... "
            "--method ...` to fit on these rows, or a model of DLDL."
        )
    if loaded.facts.get("label_kind") == "degrees":
        note("note: the model was fitted on degrees, not on 0/1 labels.")
    stream(data, loaded, loaded.enhance, loaded.labels, output, id, format, to, as_json)
