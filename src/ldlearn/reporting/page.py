"""The HTML page: one file that loads nothing from the network, with everything escaped, and the
data of its scripts."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from ldlearn._optional_imports import import_optional
from ldlearn.evaluation import TASKS, Curve, Results, SampleRows, sensitivity_curves
from ldlearn.evaluation.formatting import format_duration, format_value, plural, strip_control_chars
from ldlearn.evaluation.record import is_number
from ldlearn.evaluation.text_tables import (
    agreement_table,
    cost_table,
    format_number,
    format_rank,
    score_table,
)
from ldlearn.reporting import style
from ldlearn.reporting.conclusions import compare_with_baseline, summarize, summarize_dataset
from ldlearn.reporting.run_summary import grid_sizes, selected_parameters, summarize_convergence

JsonObject = dict[str, Any]
_LABELS_SHOWN = 9  # in the example at the top of the page

# Colours of the displays, and their names in the style sheet of the page.
_THEME = {getattr(style, name.upper()): name for name in ("ink", "muted", "rule", "band")}
_THEME |= {color: f"c{i}" for i, color in enumerate(style.PALETTE)}

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "±": r"$\pm$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "χ": r"$\chi$", "²": r"$^2$", "–": "--",
    "→": r"$\rightarrow$", "•": r"$\bullet$", "◦": r"$\circ$",
})  # fmt: skip


def render(template: str, report: Any, **context: Any) -> str:
    """Fill a template of a report; `context` is what else it uses, escaped in HTML unless marked as
    safe."""
    context |= {"report": report, "results": report.results, "run": report.run}
    return str(template_environment().get_template(template).render(context))


def page_assets(style: str, *scripts: str) -> dict[str, str]:
    """Style sheet and scripts of a page, to be written into it, and the hash of the scripts."""
    sources = [
        template_environment().loader.get_source(template_environment(), name)[0]
        for name in (style, *scripts)
    ]
    script = "\n".join(sources[1:])
    # The security policy of the page allows this script and no other, so that a name cannot inject
    # one.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"style": sources[0], "script": script, "script_hash": f"sha256-{digest}"}


@cache
def template_environment() -> Any:
    """One for all pages, since compiling a template takes longer than filling it."""
    jinja2 = import_optional("jinja2", "report", "Reports")
    # A misspelled name in the template is an error, not an empty string on the page.
    options = {"undefined": jinja2.StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    options |= {"autoescape": jinja2.select_autoescape(["html"]), "keep_trailing_newline": True}
    made = jinja2.Environment(loader=jinja2.PackageLoader("ldlearn.reporting"), **options)
    made.filters |= {"number": format_number, "rank": format_rank, "duration": format_duration}
    made.filters |= {"markdown": escape_markdown, "latex": escape_latex}
    functions = [
        compare_with_baseline,
        summarize,
        summarize_dataset,
        plural,
        score_table,
        agreement_table,
    ]
    functions += [cost_table, grid_sizes, selected_parameters, summarize_convergence]
    made.globals |= {function.__name__: function for function in functions} | {"tasks": TASKS}
    return made


def escape_markdown(text: str) -> str:
    """Escape text for Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>|#~&$])", r"\\\1", strip_control_chars(text))


def escape_latex(text: str) -> str:
    """Escape text for LaTeX."""
    return strip_control_chars(text).translate(_LATEX)


def page_data(results: Results) -> JsonObject:
    """Data that the scripts of the page draw: samples, sensitivity and convergence, each by data
    set."""
    convergence = {}
    for dataset in results.present_datasets:
        if runs := results.convergence(dataset.name):
            # Of the first repeat. Significant digits, not decimals: objectives are of any size and
            # change little at the end.
            objectives = {method: _round_all(runs[method][0].objective, ".8g") for method in runs}
            convergence[dataset.name] = objectives
    # By data set and method: the curves of every parameter for both tasks.
    sensitivity: JsonObject = {}
    for method, name in results.by_method_and_dataset:
        curves = {task: sensitivity_curves(results, name, method, task) for task in TASKS}
        entry = {task: list(map(_curve_data, drawn)) for task, drawn in curves.items() if drawn}
        if entry:
            sensitivity.setdefault(name, {})[method] = entry
    return {"samples": sample_data(results), "sensitivity": sensitivity, "convergence": convergence}


def sample_data(results: Results) -> JsonObject:
    """By data set: the stored rows of the first repeat with truth, logical labels and the degrees
    by each method."""
    data: JsonObject = {}
    for dataset in results.present_datasets:
        stored: dict[str, SampleRows] = {}
        for record in results.finished_records(dataset.name):
            if record.samples and record.samples.recovered:
                stored.setdefault(record.method, record.samples)
        if not stored:
            continue
        first = next(iter(stored.values()))
        data[dataset.name] = {"labels": dataset.label_names, "rows": []}
        for place, row in enumerate(first.rows):
            # A method whose first repeat failed has other rows.
            same = {
                name: found.recovered for name, found in stored.items() if found.rows == first.rows
            }
            degrees = {name: _round_all(matrix[place]) for name, matrix in same.items() if matrix}
            known = {"truth": first.truth, "logical": first.logical}
            entry = {
                name: _round_all(matrix[place]) if matrix else None
                for name, matrix in known.items()
            }
            text = first.texts[place] if first.texts else ""
            data[dataset.name]["rows"].append(
                {"row": row, "text": text, "degrees": degrees} | entry
            )
    return data


def example_row(results: Results, stored: Mapping[str, Any]) -> JsonObject | None:
    """A short row of the first data set with typical intersection, and its degrees by the subject
    of the plan."""
    if not stored:
        return None
    dataset, found = next(iter(stored.items()))
    rows = found["rows"]
    method = (
        results.subject if results.subject in rows[0]["degrees"] else next(iter(rows[0]["degrees"]))
    )
    if rows[0]["truth"]:
        by_overlap = sorted(
            rows, key=lambda row: sum(map(min, row["truth"], row["degrees"][method]))
        )
        rows = by_overlap[len(rows) // 4 : len(rows) - len(rows) // 4]  # between the quartiles
    row = min(rows, key=lambda row: len(row["text"]))
    columns = {"logical": row["logical"], "degree": row["degrees"][method], "truth": row["truth"]}
    labels = [
        {"name": name} | {key: values[j] if values else None for key, values in columns.items()}
        for j, name in enumerate(found["labels"])
    ]
    largest = sorted(labels, key=lambda label: -max(label["degree"], label["truth"] or 0.0))[
        :_LABELS_SHOWN
    ]
    shown = [label for label in labels if label in largest]
    return {
        "dataset": dataset,
        "method": method,
        "row": row["row"],
        "text": row["text"],
        "labels": shown,
    }


def _curve_data(curve: Curve) -> JsonObject:
    return {
        "parameter": curve.parameter,
        "score": curve.heading,
        "names": [format_value(value) for value in curve.values],
        "x": curve.positions,
        "y": _round_all(curve.mean, ".6f"),
        "spread": _round_all(curve.std, ".6f"),
        "chosen": [curve.selected.count(value) for value in curve.values],
    }


def _round_all(values: Iterable[Any], form: str = ".4f") -> list[float | None]:
    return [float(f"{value:{form}}") if is_number(value) else None for value in values]


def script_json(data: Any) -> str:
    """JSON for a script element, whatever its strings contain."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    # "</script>" in a name would end the element; JSON parsers decode the escapes.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def inline_svg(svg: bytes, prefix: str) -> str:
    """A figure as an SVG element with the colours and the font of the page; `prefix` makes its ids
    unique."""
    text = svg.decode()
    # The XML declaration and the document type are not allowed inside a page.
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(
        r' (?:width|height)="[^"]*"', "", text, count=2
    )  # those of the whole figure come first
    # ids, and the references to them (clips, markers)
    text = re.sub(r'((?<= )id="|href="#|url\(#)', rf"\g<1>{prefix}-", text)
    text = re.sub(r'style="([^"]*)"', _theme_style, text)
    # On a wide page a figure is little larger than drawn; on a narrow one it scrolls, so that it
    # stays readable. matplotlib uses points, 72 to an inch, and browsers pixels, 96 to an inch.
    width = float(re.search(r'viewBox="0 0 ([\d.]+) ', text)[1]) * 4 / 3  # type: ignore[index]
    text = text.replace(
        "<svg",
        f'<svg style="max-width: {1.15 * width:.0f}px; min-width: {min(width, 640):.0f}px"',
        1,
    )
    # The white background of the figure is its first patch.
    return text.replace("fill: #ffffff", "fill: none")


def _theme_style(match: re.Match[str]) -> str:
    style = match[1]
    for color, name in _THEME.items():
        style = style.replace(color, f"var(--{name})")
    # matplotlib writes weight, size and family as one "font"; the family is that of the page.
    font = r"font: (bold )?([\d.]+px) [^;]*"
    style = re.sub(font, lambda m: f"font-weight: {m[1] or 'normal'}; font-size: {m[2]}", style)
    return f'style="{style}"'
