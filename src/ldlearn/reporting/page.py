"""The HTML page: one file that loads nothing from the network, and the data of its scripts."""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from ldlearn._optional_imports import import_optional
from ldlearn.evaluation import (
    TASKS,
    Curve,
    Results,
    SampleRows,
    formatting,
    sensitivity_curves,
    text_tables,
)
from ldlearn.evaluation.formatting import format_value, strip_control_chars
from ldlearn.evaluation.record import is_finite_number
from ldlearn.reporting import conclusions, run_summary, style

_JsonObject = dict[str, Any]
_LABELS_SHOWN = 9  # in the example at the top of the page

# Colours of the displays, and their names in the style sheet of the page.
_THEME = {getattr(style, name.upper()): name for name in ("ink", "muted", "rule", "band")}
_THEME |= {color: f"c{i}" for i, color in enumerate(style.PALETTE)}

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "±": r"$\pm$", "↑": r"$\uparrow$",
    "↓": r"$\downarrow$", "χ": r"$\chi$", "²": r"$^2$", "–": "--", "→": r"$\rightarrow$",
    "•": r"$\bullet$", "◦": r"$\circ$",
})  # fmt: skip


def render(template: str, report: Any, **context: Any) -> str:
    """Fill a template of a report; what else it uses is escaped in HTML unless marked as safe."""
    context |= {
        "report": report,
        "results": report.results,
        "run": report.run,
    }
    return template_environment().get_template(template).render(context)


def page_script(*names: str) -> dict[str, str]:
    """The script of a page, to be written into it, and its hash."""
    environment = template_environment()
    sources = [environment.loader.get_source(environment, name)[0] for name in names]
    script = "\n".join(sources)
    # The security policy of the page allows this script and no other, so that a name cannot inject
    # one.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"script": script, "script_hash": f"sha256-{digest}"}


@cache
def template_environment() -> Any:
    """One for all pages, since compiling a template takes longer than filling it."""
    jinja2 = import_optional("jinja2", "report", "Reports")
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("ldlearn.reporting"),
        # A misspelled name in the template is an error, not an empty string on the page.
        undefined=jinja2.StrictUndefined,
        autoescape=jinja2.select_autoescape(["html"]),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    made.filters |= {
        "number": text_tables.format_number,
        "rank": text_tables.format_rank,
        "duration": formatting.format_duration,
        "markdown": _escape_markdown,
        "latex": _escape_latex,
    }
    made.globals |= {
        "conclusions": conclusions,
        "plural": formatting.plural,
        "run_summary": run_summary,
        "tasks": TASKS,
        "text_tables": text_tables,
    }
    return made


def _escape_markdown(text: str) -> str:
    """Escape text for Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>|#~&$])", r"\\\1", strip_control_chars(text))


def _escape_latex(text: str) -> str:
    """Escape text for LaTeX."""
    return strip_control_chars(text).translate(_LATEX)


def page_data(results: Results) -> _JsonObject:
    """Samples, sensitivity and convergence by data set, which the scripts of the page draw."""
    convergence: _JsonObject = {}
    for dataset in results.present_datasets:
        for method, runs in results.convergence(dataset.name).items():
            # Of the first repeat. Significant digits, not decimals: objectives are of any size and
            # change little at the end.
            objective = _round_all(runs[0].objective, ".8g")
            convergence.setdefault(dataset.name, {})[method] = objective
    # By data set and method: the curves of every parameter for both tasks.
    sensitivity: _JsonObject = {}
    for (method, dataset_name), task in product(results.by_method_and_dataset, TASKS):
        curves = sensitivity_curves(results, dataset_name, method, task)
        if curves:
            of_method = sensitivity.setdefault(dataset_name, {}).setdefault(method, {})
            of_method[task] = list(map(_curve_data, curves))
    samples = _sample_data(results)
    return {
        "samples": samples,
        "sensitivity": sensitivity,
        "convergence": convergence,
    }


def _sample_data(results: Results) -> _JsonObject:
    """By data set: stored rows of the first repeat with truth, logical labels and degrees."""
    data: _JsonObject = {}
    for dataset in results.present_datasets:
        stored: dict[str, SampleRows] = {}
        for record in results.finished_records(dataset.name):
            if record.samples and record.samples.recovered:
                stored.setdefault(record.method, record.samples)
        if stored:
            truth = "Held-out votes" if dataset.is_scored_by_votes else "Truth"
            data[dataset.name] = {
                "labels": dataset.label_names,
                "rows": _sample_rows(stored),
                "truth": truth,
            }
    return data


def _sample_rows(stored: Mapping[str, SampleRows]) -> list[_JsonObject]:
    """The rows of the first method, with the degrees by every method that has the same rows."""
    first = next(iter(stored.values()))
    rows = []
    for place, row in enumerate(first.rows):
        degrees = {}
        for method, samples in stored.items():
            # A method whose first repeat failed has other rows.
            if samples.rows == first.rows:
                degrees[method] = _round_row(samples.recovered, place)
        rows.append(
            {
                "row": row,
                "text": first.texts[place] if first.texts else "",
                "degrees": degrees,
                "truth": _round_row(first.truth, place),
                "logical": _round_row(first.logical, place),
                "votes": _round_row(first.votes, place),
            }
        )
    return rows


def _round_row(matrix: Sequence[Any] | None, place: int) -> list[float | None] | None:
    return _round_all(matrix[place]) if matrix else None


def example_row(results: Results, stored: Mapping[str, Any]) -> _JsonObject | None:
    """A short row of the first data set with typical intersection, and its degrees."""
    if not stored:
        return None
    dataset, found = next(iter(stored.items()))
    rows = found["rows"]
    method = results.subject
    if method not in rows[0]["degrees"]:
        method = next(iter(rows[0]["degrees"]))

    def overlap(row: _JsonObject) -> float:
        return sum(map(min, row["truth"], row["degrees"][method]))

    if rows[0]["truth"]:
        quarter = len(rows) // 4
        rows = sorted(rows, key=overlap)[quarter : len(rows) - quarter]  # between the quartiles
    row = min(rows, key=lambda row: len(row["text"]))
    unknown = [None] * len(found["labels"])
    seen = row["votes"] or row["logical"] or unknown
    values = (row["degrees"][method], seen, row["truth"] or unknown)
    labels = []
    for name, degree, seen, truth in zip(found["labels"], *values, strict=True):
        labels.append(
            {
                "name": name,
                "degree": degree,
                "seen": seen,
                "truth": truth,
            }
        )
    by_size = sorted(labels, key=lambda label: -max(label["degree"], label["truth"] or 0.0))
    largest = by_size[:_LABELS_SHOWN]
    return {
        "dataset": dataset,
        "method": method,
        "truth": found["truth"],
        "has_votes": row["votes"] is not None,
        "row": row["row"],
        "text": row["text"],
        "labels": [label for label in labels if label in largest],
    }


def _curve_data(curve: Curve) -> _JsonObject:
    return {
        "parameter": curve.parameter,
        "score": curve.heading,
        "names": list(map(format_value, curve.values)),
        "x": curve.positions,
        "y": _round_all(curve.mean, ".6f"),
        "spread": _round_all(curve.std, ".6f"),
        "chosen": list(map(curve.selected.count, curve.values)),
    }


def _round_all(values: Iterable[Any], form: str = ".4f") -> list[float | None]:
    return [float(f"{value:{form}}") if is_finite_number(value) else None for value in values]


def inline_svg(svg: bytes, prefix: str) -> str:
    """A figure as an SVG element in the style of the page; `prefix` makes its ids unique."""
    text = svg.decode()
    # The XML declaration and the document type are not allowed inside a page.
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # Width and height of the whole figure come first.
    text = re.sub(r' (?:width|height)="[^"]*"', "", text, count=2)
    # ids, and the references to them (clips, markers)
    text = re.sub(r'((?<= )id="|href="#|url\(#)', rf"\g<1>{prefix}-", text)
    text = re.sub(r'style="([^"]*)"', _theme_style, text)
    # On a wide page a figure is little larger than drawn; on a narrow one it scrolls, so that it
    # stays readable. matplotlib uses points, 72 to an inch, and browsers pixels, 96 to an inch.
    width = float(re.search(r'viewBox="0 0 ([\d.]+) ', text)[1]) * 4 / 3  # type: ignore[index]
    limits = f"max-width: {1.15 * width:.0f}px; min-width: {min(width, 640):.0f}px"
    text = text.replace("<svg", f'<svg style="{limits}"', 1)
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
