"""`ldlearn fit`: from a table of features and labels to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ldlearn.cli.console import note, progress, show_json, show_scores
from ldlearn.cli.options import Categorical, Data, Features, From, Id, Json, Labels, Method, Settings, parse_settings
from ldlearn.cli.training import Chosen, Wanted, name_in_messages, read_training
from ldlearn.io.formats import check_output, naming
from ldlearn.io.values import are_logical, to_labels
from ldlearn.models import fit_and_check, save_model
from ldlearn.models.description import describe_model
from ldlearn.models.method_names import DEFAULT_METHOD, make_predictor, method_name


def fit(
    data: Data,
    labels: Labels,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Model to write, an .ldl file.")],
    features: Features = None,
    categorical: Categorical = None,
    id: Id = None,
    method: Method = DEFAULT_METHOD,
    set: Settings = None,
    holdout: Annotated[float, typer.Option(metavar="SHARE", help="Rows to check a second fit on.")] = 0.2,
    format: From = None,
    as_json: Json = False,
) -> None:
    """Fit a model on a table with 0/1 label columns, and say how far to trust it.

    \b
    ldlearn fit data.csv --labels sky,mountain,sea -o model.ldl
    ldlearn fit data.csv -l 'emo_*' --features x1:x20 --set alpha=0.1 -o m.ldl
    cat data.jsonl | ldlearn fit - --from jsonl -l a,b,c --id key -o m.ldl
    """
    check_model_name(output)
    if not 0 <= holdout < 1:
        raise typer.BadParameter(f"{holdout:g} is not between 0 and 1.", param_hint="--holdout")
    make_predictor(method, parse_settings(set), logical=True)  # wrong settings fail before the table is read
    table, chosen = read_training(data, format, Wanted(labels, features, categorical, id))
    with naming(name_in_messages(data)):
        logical = are_logical(to_labels(table, chosen.labels))
        estimator = make_predictor(method, parse_settings(set), logical=logical)
        model = _fit(table, chosen, estimator, holdout)
    save_model(model, output)
    result = {"model": output} | describe_model(model)
    if as_json:
        show_json(result)
        return
    n, m, c = len(table), len(model.features), len(model.labels)
    typer.echo(f"{method_name(model.estimator)} fitted on {n:,} rows, {m} features, {c} labels: {output}")
    show_scores(model.facts)
    for warning in model.facts["warnings"]:
        note(f"warning: {warning}")


def check_model_name(output: str) -> None:
    """Model files have a suffix of their own, so that a slip does not overwrite the data."""
    if Path(output).suffix != ".ldl":
        raise typer.BadParameter(f"a model file ends in .ldl, {output!r} does not.", param_hint="-o")
    check_output(output)


def _fit(table: Any, chosen: Chosen, estimator: Any, holdout: float) -> Any:
    half_steps = 2 * int(getattr(estimator, "max_iter", 1)) * (2 if holdout else 1)
    watched = "callback" in estimator.get_params(deep=False)
    with progress("fitting", half_steps if watched else None) as advance:
        if watched:

            def tell(iteration: int, step: str, objective: float) -> None:
                advance(1)

            estimator.set_params(callback=tell)
        model = fit_and_check(
            table,
            chosen.labels,
            features=chosen.features,
            estimator=estimator,
            categorical=chosen.categorical,
            id=chosen.id,
            holdout=holdout,
        )
    if watched:
        model.estimator.set_params(callback=None)
    return model
