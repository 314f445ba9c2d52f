"""The commands for model files: inspect, export."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ldlearn import tables
from ldlearn.cli import options as opt
from ldlearn.cli.console import print_json, print_result, print_table, report_quality
from ldlearn.tables.column_types import describe_types
from ldlearn.tables.formats import check_output

ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="Model file (.ldl).")]


def inspect(
    model: ModelFile,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write a model card: one HTML page.")] = None,
    method: opt.Trusted = None,
    no_clobber: opt.NoClobber = False,
    as_json: opt.Json = False,
) -> None:
    """Show the training data, parameters, scores and warnings of a model.

    \b
    ldlearn inspect model.ldl
    ldlearn inspect model.ldl --html card.html
    """
    known = tables.describe_file(model, method)
    if html is not None:
        check_output(html, [model], overwrite=not no_clobber)
        tables.write_card(known, html)
    if as_json:
        print_json(known)
        return
    print_table(["Model", known["model"]], _overview(known).items())
    report_quality(known)
    if html is not None:
        print_result(f"model card: {html}")


def _overview(known: dict[str, Any]) -> dict[str, str]:
    data, gap = known["data"], known["certified_gap"]
    learned = {name: f"{v:.4g}" if isinstance(v, float) else v for name, v in known["learned"].items()}
    found = {
        "method": known["method"],
        "rows": f"{data['rows']:,}",
        "columns": "; ".join(describe_types(known["columns"])),
        "source": ", ".join(known["source"].values()) or "unknown",
        "labels": ", ".join(f"{name} ({mean:.0%})" for name, mean in data["label_means"].items()),
        "positives per row": f"{data['positives_per_row']:.2f}",
        "missing values": ", ".join(f"{name} {count:,}" for name, count in data["missing"].items()) or "none",
        "parameters": ", ".join(f"{name}={value}" for name, value in known["parameters"].items()),
        "learned": ", ".join(f"{name}={value}" for name, value in learned.items()),
        "selected by the labels": known["selection_summary"] or "nothing",
        "certified gap": "none for this method" if gap is None else f"{gap['per_row']:.2e} per row",
        "sha256": known["sha256"],
    }
    for label, strongest in (known["strongest_features"] or {}).items():
        found[f"increase {label}"] = ", ".join(f"{name} ({coef:+.2f})" for name, coef in strongest) or "nothing"
    return found


def export(
    model: ModelFile,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE.onnx", help="ONNX file to write.")],
    method: opt.Trusted = None,
    no_clobber: opt.NoClobber = False,
) -> None:
    """Write a model as ONNX, its preprocessing included.

    \b
    ldlearn export model.ldl -o model.onnx
    """
    if Path(output).suffix != ".onnx":
        raise typer.BadParameter(f"an ONNX file ends in .onnx, {output!r} does not.", param_hint="-o")
    # Before the work: an output that must not be overwritten is an error at once.
    check_output(output, [model], overwrite=not no_clobber)
    loaded = tables.load_table_model(model, method)
    tables.export_onnx(loaded, output)
    inputs = {"numbers": loaded.numeric, "texts": loaded.categorical}
    columns = ", ".join(f"{name} ({len(names)} columns)" for name, names in inputs.items() if names)
    print_result(f"{output}: inputs {columns}; output degrees ({len(loaded.labels)} labels)")
