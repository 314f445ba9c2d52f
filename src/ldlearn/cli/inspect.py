"""`ldlearn inspect`: content, scores and warnings of a model file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ldlearn.cli.console import print_json, print_result, print_table, report_quality
from ldlearn.cli.options import Json, NoClobber
from ldlearn.tables import describe_file, write_card
from ldlearn.tables.column_types import describe_types
from ldlearn.tables.formats import check_output


def inspect(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file (.ldl).")],
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write a model card: one HTML page.")] = None,
    no_clobber: NoClobber = False,
    as_json: Json = False,
) -> None:
    """Show the training data, parameters, scores and warnings of a model.

    \b
    ldlearn inspect model.ldl
    ldlearn inspect model.ldl --html card.html
    """
    if html is not None:
        check_output(html, [model], overwrite=not no_clobber)
    known = describe_file(model)
    if html is not None:
        write_card(known, html)
    if as_json:
        print_json(known)
        return
    print_table(["Model", known["model"]], _overview(known).items())
    report_quality(known)
    if html is not None:
        print_result(f"model card: {html}")


def _overview(known: dict[str, Any]) -> dict[str, str]:
    data, gap = known["data"], known["certified_gap"]
    found = {
        "method": known["method"],
        "rows": f"{data['rows']:,}",
        "columns": "; ".join(describe_types(known["columns"])),
        "source": ", ".join(known["source"].values()) or "unknown",
        "labels": ", ".join(f"{name} ({share:.0%})" for name, share in data["label_means"].items()),
        "positives per row": f"{data['positives_per_row']:.2f}",
        "missing values": ", ".join(f"{name} {count:,}" for name, count in data["missing"].items()) or "none",
        "parameters": ", ".join(f"{name}={value}" for name, value in known["parameters"].items()),
        "learned": ", ".join(f"{name}={_short(value)}" for name, value in known["learned"].items()),
        "chosen by the labels": known["choice"] or "nothing",
        "certified gap": "none for this method" if gap is None else f"{gap['per_row']:.2e} per row",
        "sha256": known["sha256"],
    }
    for label, strongest in (known["strongest_features"] or {}).items():
        pushes = ", ".join(f"{name} ({weight:+.2f})" for name, weight in strongest)
        found[f"pushes {label} up"] = pushes or "nothing"
    return found


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
