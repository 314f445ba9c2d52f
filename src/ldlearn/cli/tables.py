"""The commands for tables and models.

They are fit, enhance, predict, evaluate, compare, inspect, export and import.
"""

from dataclasses import replace
from typing import Annotated, Any

from typer import Argument, BadParameter, Option

from ldlearn import tables
from ldlearn._messages import format_list
from ldlearn.cli.console import (
    check_one_stdout,
    log,
    print_json,
    print_recovery,
    print_result,
    print_scores,
    print_table,
    print_warning,
    quote_for_shell,
    report_quality,
    report_written,
)
from ldlearn.cli.options import (
    AnnotationColumns,
    Data,
    Embedding,
    FittedModel,
    Json,
    MethodName,
    MethodParams,
    Metrics,
    OptionalLabelColumns,
    OutputTable,
    Scheduler,
    TrustedMethod,
    check_ending,
    report_on_console,
    split_names,
)
from ldlearn.cli.rater_agreement import agreement_facts, print_agreement
from ldlearn.compose.method_names import (
    DEFAULT_METHOD,
    default_method,
    make_enhancer,
    make_predictor,
    method_name,
)
from ldlearn.evaluation.formatting import plural
from ldlearn.exceptions import ParameterError
from ldlearn.metrics import get_metric
from ldlearn.tables import ColumnOptions, ReadingOptions, WritingOptions
from ldlearn.tables.annotations import read_annotations
from ldlearn.tables.column_types import describe_types
from ldlearn.tables.description import describe_votes
from ldlearn.tables.files import PIPE
from ldlearn.tables.formats import check_output, write_table
from ldlearn.tables.labelled_table import describe_repeated_rows
from ldlearn.tables.options import given_options
from ldlearn.tables.table_fit import describe_origin
from ldlearn.tables.table_labels import TableLabels
from ldlearn.tables.writing import check_gives_intervals

_Model = Annotated[str, Argument(metavar="MODEL", help="Model file (.ldl).")]
_Overwrite = Annotated[WritingOptions, {"overwrite"}]
# Options of `fit` that a cluster does not take.
_LOCAL_OPTIONS = {
    "kind", "separator", "blank", "empty_rows", "delimiter", "decimal", "encoding", "format",
}  # fmt: skip


def fit(
    data: Data,
    output: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="Model to write, an .ldl file.")
    ],
    labels: OptionalLabelColumns = None,
    *,
    annotations: AnnotationColumns,
    columns: ColumnOptions,
    embedding: Embedding = None,
    method: MethodName = None,
    set: MethodParams = None,
    holdout: Annotated[
        float | None, Option(metavar="F", help="Fraction of held-out rows; default 0.2.")
    ] = None,
    intervals: Annotated[
        bool, Option("--intervals", help="Store what predict --interval, --flag-far need.")
    ] = False,
    reading: ReadingOptions,
    scheduler: Scheduler = None,
    verbose: Annotated[
        bool, Option("--verbose", help="Explain how hyperparameters were selected.")
    ] = False,
    writing: _Overwrite,
    as_json: Json = False,
) -> None:
    """Fit a model on a table with 0/1 labels or votes, and score it on held-out rows.

    An empty label is unknown. A 0 means that the label does not apply; if it only means that the
    label is not among the main ones, use --zeros less. Counts of votes need --kind votes. A table
    with one annotation per row is counted by item, as import does, if --item names the items.

    \b
    ldlearn fit data.csv --labels sky,mountain,sea --id key -o model.ldl
    ldlearn fit survey.csv -l 'reason_*' --zeros less --empty-rows drop -o m.ldl
    ldlearn fit votes.csv -l 'emo_*' --kind votes -o m.ldl
    ldlearn fit data.csv -l 'emo_*' --features x1:x20 --set alpha=0.1 -o m.ldl
    ldlearn fit ratings.csv --item photo --rater who --label tag -o m.ldl
    ldlearn fit 'part-*.parquet' -l a,b,c --scheduler tcp://host:8786 -o m.ldl
    """
    check_ending(output, "a model file", ".ldl")
    check_output(output, [data], overwrite=writing.overwrite)
    params = dict(set or ())
    reading = report_on_console(reading)
    counted = None
    if annotations.item is not None:
        _check_annotation_options(labels, columns, scheduler)
        counted = read_annotations(data, **vars(annotations), reading=reading)
    elif given := given_options(annotations):
        problem = "it is for a table with one annotation per row; name its items with --item."
        raise BadParameter(problem, param_hint="--" + given[0].replace("_", "-"))
    elif labels is None:
        advice = "for a table with one annotation per row, name its items with --item."
        raise BadParameter(f"name the label columns; {advice}", param_hint="--labels")
    if scheduler is not None:
        given = [*given_options(columns), *given_options(reading), *given_options(reading.dialect)]
        refused = [name for name in given if name in _LOCAL_OPTIONS]
        refused += ["intervals"] * intervals
        refused += ["embedding"] * (embedding is not None)
        refused += ["holdout"] * (holdout is not None)
        if refused:
            problem = f"a cluster takes 0/1 labels and no {refused[0]}."
            raise BadParameter(problem, param_hint="--scheduler")
        # only with a scheduler: it needs Dask
        from ldlearn.tables.dask_tables import fit_parts

        model = fit_parts(
            data,
            labels,
            scheduler=scheduler,
            method=method or DEFAULT_METHOD,
            params=params,
            columns=columns,
        )
    else:
        table: Any = data
        label_columns: Any = labels
        if counted is not None:
            for message in counted.messages:
                log(f"{message}.")
            table = counted.table
            label_columns = counted.labels
            columns = replace(columns, id=counted.id)
            if counted.kind == "votes":
                columns = replace(columns, kind="votes")
            reading = report_on_console(ReadingOptions())
        if intervals:
            named = method or default_method(columns.kind)
            check_gives_intervals(make_predictor(named, params, zeros=columns.zeros))
        model = tables.fit_table(
            table,
            label_columns,
            method=method,
            params=params,
            embedding=None if embedding is None else tables.import_embedding(embedding),
            holdout=0.2 if holdout is None else holdout,
            columns=columns,
            reading=reading,
        )
        if counted is not None:
            model.facts["source"] = describe_origin(data)
    tables.save_model(model, output, intervals=intervals)
    if as_json:
        agreement = {} if counted is None else agreement_facts(counted)
        print_json({"model": output} | tables.describe_model(model) | agreement)
        return
    _report_fit(model, output)
    if counted is not None:
        print_agreement(counted, tables=False)
    _report_selection(model, verbose)
    report_quality(model.facts, len(model.labels))


def _report_fit(model: tables.TableModel, output: str) -> None:
    """Print what a model was fitted on."""
    facts = model.facts
    n = facts["rows"]
    columns_and_labels = f"{plural(len(model.features), 'feature')}, {len(model.labels)} labels"
    print_result(
        f"{method_name(model.estimator)} fitted on {n:,} rows, {columns_and_labels}: {output}"
    )
    lines = describe_types(facts["columns"])
    if missing := facts["missing"]:
        lines.append(f"missing values: {sum(missing.values()):,}, in {format_list(list(missing))}")
    if votes := describe_votes(facts):
        lines.append(votes)
    for line in lines + describe_repeated_rows(facts["repeated_rows"] or 0, n):
        print_result(f"  {line}")


def _report_selection(model: tables.TableModel, verbose: bool) -> None:
    """Print the hyperparameters that were selected, and how if the user asks for it."""
    estimator = model.estimator
    explanation = getattr(estimator, "selection_summary_", "")
    if not explanation:
        return
    selected = []
    given = estimator.get_params()
    for name in ("beta", "gamma"):
        value = getattr(estimator, f"{name}_", None)
        if value is not None and given.get(name) is None:
            selected.append(f"{name}={value:.3g}")
    labels_used = "votes" if model.facts["label_kind"] == "votes" else "0/1 labels"
    if selected:
        print_result(
            f"Hyperparameters selected by the {labels_used}: {', '.join(selected)} "
            "(--verbose explains how)."
        )
    if verbose:
        print_result(f"  {explanation}.")


def _check_annotation_options(
    labels: str | None, columns: ColumnOptions, scheduler: str | None
) -> None:
    """Refuse options of `fit` that have no meaning for a table with one annotation per row."""
    given = given_options(columns)
    meaningless = {
        "--labels": labels is not None,
        "--scheduler": scheduler is not None,
        "--kind": columns.kind not in ("auto", "votes"),
        **{f"--{name}": name in given for name in ("blank", "separator", "id")},
    }
    for option, is_given in meaningless.items():
        if is_given:
            problem = "it has no meaning beside --item: one row per item is made of annotations."
            raise BadParameter(problem, param_hint=option)


def enhance(
    data: Data,
    model: Annotated[
        str | None, Option("--model", "-m", metavar="FILE", help="A fitted model, or:")
    ] = None,
    labels: Annotated[
        str | None, Option("--labels", "-l", metavar="COLS", help="Labels to fit on.")
    ] = None,
    output: OutputTable = PIPE,
    *,
    columns: ColumnOptions,
    method: MethodName = None,
    set: MethodParams = None,
    embedding: Embedding = None,
    reading: ReadingOptions,
    writing: WritingOptions,
    as_json: Json = False,
) -> None:
    """Turn 0/1 labels or votes of rows into degrees: by a fitted model, or by a method.

    A model of CountLDL expects counts of votes; a row without votes gets the predicted degrees.

    \b
    ldlearn enhance data.csv --model model.ldl -o degrees.csv
    ldlearn enhance data.csv --labels sky,sea --method PriorLE -o degrees.csv
    ldlearn enhance votes.csv -l sky,sea --kind votes --interval 0.9 -o degrees.csv
    """
    check_one_stdout(output, as_json)
    is_label_file = labels is not None and labels.endswith(".npy")
    if (model is None) == (labels is None) and not is_label_file:
        raise ParameterError("give either a model, or labels to fit a method on.")
    reading = report_on_console(reading, output)
    if model is None:
        if embedding is not None:
            raise BadParameter(
                "only a model that was fitted with one takes it.", param_hint="--embedding"
            )
        written = tables.fit_enhance_table(
            data,
            labels,
            output,
            method=method,
            params=dict(set or ()),
            columns=columns,
            writing=writing,
            reading=reading,
        )
    else:
        trusted = method if ":" in (method or "") else None
        FittedModel(model, embedding, trusted).import_code()
        for name, value in {"method": None if trusted else method, "set": set}.items():
            if value:
                raise ParameterError(
                    f"{name} has no meaning beside a model, which is fitted already; leave it out."
                )
        written = tables.enhance_table(
            data, model, output, labels=labels, columns=columns, writing=writing, reading=reading
        )
    report_written(written, as_json)


def predict(
    data: Data,
    output: OutputTable = PIPE,
    *,
    columns: Annotated[ColumnOptions, {"id"}],
    fitted: FittedModel,
    reading: ReadingOptions,
    writing: WritingOptions,
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Predict the degrees of new rows, in constant memory.

    Features are matched by name. The result has the identifier, the columns of --keep, and the
    labels.

    \b
    ldlearn predict new.parquet --model model.ldl -o out.csv
    ldlearn predict new.csv -m model.ldl --interval 0.9 --flag-far -o out.csv
    ldlearn predict new.csv -m model.ldl --round 3 --keep city,price -o out.xlsx
    zcat new.csv.gz | ldlearn predict - -m model.ldl --to jsonl | head
    """
    check_one_stdout(output, as_json)
    model = fitted.import_code()
    reading = report_on_console(reading, output)
    if scheduler is None:
        written = tables.predict_table(
            data, model, output, id=columns.id, writing=writing, reading=reading
        )
    else:
        # only with a scheduler: it needs Dask
        from ldlearn.tables.dask_tables import predict_parts

        written = predict_parts(
            data,
            model,
            output,
            scheduler=scheduler,
            id=columns.id,
            writing=writing,
            reading=reading,
        )
    report_written(written, as_json)


def evaluate(
    data: Data,
    metrics: Metrics = None,
    labels: Annotated[
        str | None, Option("--labels", "-l", metavar="FILE", help="Labels of a .npy file.")
    ] = None,
    *,
    columns: Annotated[ColumnOptions, {"kind", "blank"}],
    fitted: FittedModel,
    reading: ReadingOptions,
    as_json: Json = False,
) -> None:
    """Score a model against true degrees, 0/1 labels or votes; compare with baselines.

    "mean" predicts the mean training distribution for every row, "uniform" equal degrees;
    "classifier" is a logistic regression for each label, its probabilities normalised
    (FromClassifier). A model of CountLDL expects votes, others need --kind votes.

    \b
    ldlearn evaluate test.csv --model model.ldl
    ldlearn evaluate test.parquet -m model.ldl --metrics cosine --json
    """
    model = fitted.import_code()
    found = tables.evaluate_table(
        data,
        model,
        metrics=split_names(metrics),
        labels=labels,
        columns=columns,
        reading=report_on_console(reading),
    )
    for message in found.messages:
        log(message)
    if as_json:
        print_json(found.as_dict())
        return
    truth = found.truth
    if found.votes is not None:
        truth = f"{found.votes:,.10g} votes"
    print_scores(found.scores, f"{found.rows:,} rows, {truth}")
    if found.recovery is not None:
        print_recovery(found.recovery)
    for warning in found.warnings:
        print_warning(warning)


def compare(
    truth: Annotated[str, Argument(metavar="TRUTH", help="Table of the true distributions.")],
    other: Annotated[str, Argument(metavar="OTHER", help="Table of other distributions.")],
    labels: Annotated[
        str | None, Option("--labels", "-l", metavar="COLS", help="Default: all columns.")
    ] = None,
    metrics: Metrics = None,
    convention: Annotated[
        str, Option(metavar="NAME", help="Treatment of zeros: exact, pyldl, dldl, dldl-recovery.")
    ] = "exact",
    *,
    columns: Annotated[ColumnOptions, {"id"}],
    reading: ReadingOptions,
    as_json: Json = False,
) -> None:
    """Compare two files of distributions row by row: mean of every metric.

    Labels are matched by name, rows by the identifier column of --id, or in their order.

    \b
    ldlearn compare truth.csv predicted.csv --id key
    ldlearn compare truth.csv predicted.csv -l 'emo_*' --metrics clark,cosine
    """
    found = tables.compare_tables(
        truth,
        other,
        labels=labels,
        id=columns.id,
        metrics=split_names(metrics),
        convention=convention,
        reading=report_on_console(reading),
    )
    if as_json:
        print_json(vars(found))
        return
    rows = [(get_metric(name).heading, f"{value:.6g}") for name, value in found.scores.items()]
    print_table(["Metric", "Mean"], rows, n_numeric=1)
    matched = "in their order" if found.id is None else f"matched by {found.id}"
    print_result(f"{found.rows:,} rows {matched}, {len(found.labels)} labels.")


def inspect(
    model: _Model,
    html: Annotated[
        str | None, Option(metavar="FILE", help="Write a model card: one HTML page.")
    ] = None,
    method: TrustedMethod = None,
    *,
    writing: _Overwrite,
    as_json: Json = False,
) -> None:
    """Show the training data, parameters, scores and warnings of a model.

    \b
    ldlearn inspect model.ldl
    ldlearn inspect model.ldl --html card.html
    """
    known = tables.describe_file(model, method)
    if html is not None:
        check_output(html, [model], overwrite=writing.overwrite)
        tables.write_card(known, html)
    if as_json:
        print_json(known)
        return
    print_table(["Model", known["model"]], _model_overview(known).items())
    report_quality(known, len(known["labels"]))
    if html is not None:
        print_result(f"model card: {html}")


def _model_overview(known: dict[str, Any]) -> dict[str, str]:
    data = known["data"]
    learned = []
    for name, value in known["learned"].items():
        learned.append(f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}")
    repeated = "unknown"
    if data.get("repeated_rows") is not None:
        repeated = f"{data['repeated_rows']:,}"
    gap = "none for this method"
    if known["certified_gap"] is not None:
        gap = f"{known['certified_gap']['per_row']:.2e} per row"
    found = {
        "method": known["method"],
        "rows": f"{data['rows']:,}",
        "columns": "; ".join(describe_types(known["columns"])),
        "source": ", ".join(known["source"].values()) or "unknown",
        "labels": ", ".join(f"{name} ({mean:.0%})" for name, mean in data["label_means"].items()),
        "positives per row": f"{data['positives_per_row']:.2f}",
        "missing values": ", ".join(f"{name} {count:,}" for name, count in data["missing"].items())
        or "none",
        "repeated rows": repeated,
        "parameters": ", ".join(f"{name}={value}" for name, value in known["parameters"].items()),
        "learned": ", ".join(learned),
        "selected by the labels": known["selection_summary"] or "nothing",
        "certified gap": gap,
        "sha256": known["sha256"],
    }
    if votes := describe_votes(data):
        found["votes"] = votes
    for label, strongest in (known["strongest_features"] or {}).items():
        found[f"increase {label}"] = (
            ", ".join(f"{name} ({coef:+.2f})" for name, coef in strongest) or "nothing"
        )
    return found


def export(
    model: _Model,
    output: Annotated[
        str, Option("--output", "-o", metavar="FILE.onnx", help="ONNX file to write.")
    ],
    method: TrustedMethod = None,
    *,
    writing: _Overwrite,
) -> None:
    """Write a model as ONNX, its preprocessing included.

    \b
    ldlearn export model.ldl -o model.onnx
    """
    check_ending(output, "an ONNX file", ".onnx")
    # Before the work: an output that must not be overwritten is an error at once.
    check_output(output, [model], overwrite=writing.overwrite)
    loaded = tables.load_table_model(model, method)
    tables.export_onnx(loaded, output)
    inputs = {"numbers": loaded.numeric, "texts": loaded.categorical}
    columns = ", ".join(f"{name} ({len(names)} columns)" for name, names in inputs.items() if names)
    print_result(f"{output}: inputs {columns}; output degrees ({len(loaded.labels)} labels)")


def import_(
    files: Annotated[
        list[str], Argument(metavar="FILE...", help="Export: .json .jsonl .csv .xlsx ...")
    ],
    output: OutputTable = PIPE,
    kind: Annotated[
        str,
        Option("--as", metavar="KIND", help="votes (numbers of raters), labels (0/1), or auto."),
    ] = "auto",
    *,
    annotations: AnnotationColumns,
    zeros: Annotated[
        str | None, Option(metavar="none|less", help="0 means none, or less: for fit.")
    ] = None,
    rater_table: Annotated[
        str | None,
        Option("--raters", metavar="FILE", help="Write a table: the agreement of each rater."),
    ] = None,
    reading: ReadingOptions,
    writing: Annotated[WritingOptions, {"to", "raw", "overwrite"}],
    as_json: Json = False,
) -> None:
    """Make a table of annotations: Label Studio, Argilla, doccano, Prodigy, or long format.

    One row for each item: identifier, text or features, and for each label the number of raters who
    gave it, or 0/1. Prints how much the raters agree.

    \b
    ldlearn import project.json -o table.csv
    ldlearn import anna.jsonl ben.jsonl --as labels -o table.csv
    ldlearn import ratings.csv --item photo --rater who --label tag -o table.csv
    ldlearn import raters.csv --item photo --rater who --label 'emo_*' -o t.csv
    ldlearn import ratings.csv --exclude-raters chance --raters raters.csv -o t.csv
    """
    check_one_stdout(output, as_json)
    check_output(output, files, overwrite=writing.overwrite)
    if rater_table is not None:
        if rater_table in (PIPE, output):
            raise BadParameter("name a file of its own.", param_hint="--raters")
        check_output(rater_table, files, overwrite=writing.overwrite)
    found = read_annotations(files, kind, **vars(annotations), reading=reading)
    write_table(output, [found.table], found.labels, writing)
    for message in found.messages:
        log(f"{message}.")
    if zeros is None and found.kind == "labels":
        labels = TableLabels.from_columns(found.table, found.labels)
        labels.report_zeros(make_enhancer(), log)
    if rater_table is not None:
        write_table(rater_table, [found.raters], writing=replace(writing, to=None))
    if as_json:
        facts = {"id": found.id, "labels": found.labels, "kind": found.kind, "output": output}
        print_json({"rows": len(found.table)} | facts | agreement_facts(found))
    elif output != PIPE:
        print_result(f"{len(found.table):,} rows, {len(found.labels)} labels: {output}")
        print_agreement(found, tables=True)
        # quoted: the line is meant to be pasted into a shell
        options = (
            f"--labels {quote_for_shell(found.labels_option)} --id {quote_for_shell(found.id)}"
        )
        if found.kind == "votes":  # counts of 0 and 1 look like 0/1 labels
            options += " --kind votes"
        if zeros is not None:
            options += f" --zeros {zeros}"
        print_result(f"Next: ldlearn fit {quote_for_shell(output)} {options} -o model.ldl")
    else:
        for sentence in found.describe_agreement():
            log(sentence)
