"""The HTML page: one file that loads nothing from the network, with everything escaped, and the data of its scripts."""

from __future__ import annotations

import base64
import hashlib
import json
from bisect import bisect
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate, zip_longest
from typing import Any

from ldlearn.evaluation import TASKS, Curve, Record, Results, Samples, sensitivity_curves
from ldlearn.evaluation.formatting import format_duration, format_value, plural
from ldlearn.evaluation.record import is_number
from ldlearn.exceptions import import_optional
from ldlearn.reporting.conclusions import summarize, summarize_dataset
from ldlearn.reporting.run_summary import grid_sizes, selected_parameters, summarize_convergence, summarize_run
from ldlearn.reporting.text_tables import number, rank_text


def render(results: Results, **context: Any) -> str:
    """Fill the template of the report; `context` is what else the template uses, escaped unless marked as safe."""
    environment = _environment()
    names = ("style.css", "dom.js", "tables.js", "charts.js", "sections.js")
    style, *scripts = (environment.loader.get_source(environment, name)[0] for name in names)
    script = "\n".join(scripts)
    # The security policy of the page allows this script and no other, so that a name cannot inject one.
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    page = environment.get_template("report.html").render(
        results=results,
        tasks=TASKS,
        run=summarize_run(results),
        convergence=list(summarize_convergence(results)),
        selected=selected_parameters(results),
        grid_sizes=grid_sizes(results),
        style=style,
        script=script,
        script_hash=f"sha256-{digest}",
        **context,
    )
    return str(page)


@cache
def _environment() -> Any:
    """One for all pages, since compiling the template takes longer than filling it."""
    jinja2 = import_optional("jinja2", "report", "Reports")
    # A misspelled name in the template is an error, not an empty string on the page.
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ldlearn.reporting"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "rank": rank_text, "duration": format_duration}
    environment.globals |= {"summarize": summarize, "summarize_dataset": summarize_dataset, "plural": plural}
    return environment


def page_data(results: Results) -> dict[str, Any]:
    """Data that the scripts of the page draw."""
    return {"samples": samples(results), "sensitivity": sensitivity(results), "convergence": convergence(results)}


def samples(results: Results, max_numbers: int = 400_000) -> dict[str, Any]:
    """By data set: the stored rows with truth, logical labels and the degrees recovered by each method.

    Repeats are added while there are at most `max_numbers` degrees (about two megabytes); the first is always there.
    """
    stored = {dataset.name: _group_by_repeat(results, dataset.name) for dataset in results.present}
    sizes = [sum(map(_size, groups)) for groups in zip_longest(*stored.values(), fillvalue=())]
    n_repeats = max(1, bisect(list(accumulate(sizes)), max_numbers))
    return {
        name: {
            "labels": groups[0][0][0].label_names,
            "rows": [_sample(group, place) for group in groups[:n_repeats] for place in range(len(group[0][1].rows))],
        }
        for name, groups in stored.items()
        if groups
    }


_Group = list[tuple[Record, Samples]]


def _group_by_repeat(results: Results, dataset: str) -> list[_Group]:
    repeats: dict[int, _Group] = {}
    for record in results.finished(dataset):
        if record.samples and record.samples.recovered:
            repeats.setdefault(record.repeat, []).append((record, record.samples))
    return list(repeats.values())


def _size(group: Sequence[tuple[Record, Samples]]) -> int:
    return sum(len(samples.rows) * len(record.label_names) for record, samples in group)


def _sample(group: _Group, place: int) -> dict[str, Any]:
    record, first = group[0]
    row = first.rows[place]
    return {
        "row": row,
        "repeat": record.repeat,
        "truth": _rounded(first.truth[place]) if first.truth else None,
        "logical": _rounded(first.logical[place]) if first.logical else None,
        "degrees": {
            record.method: _rounded(samples.recovered[place])
            for record, samples in group
            # A file may hold records of several plans, and the same repeat with another seed has other rows.
            if samples.recovered and place < len(samples.rows) and samples.rows[place] == row
        },
    }


def sensitivity(results: Results) -> dict[str, Any]:
    """By data set and method: the curves of every parameter for both tasks."""
    found: dict[str, Any] = {}
    for method, dataset in results.by_method:
        curves = {task: sensitivity_curves(results, dataset, method, task) for task in TASKS}
        if entry := {task: [_curve(curve) for curve in some] for task, some in curves.items() if some}:
            found.setdefault(dataset, {})[method] = entry
    return found


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "parameter": curve.parameter,
        "score": curve.heading,
        "names": [format_value(value) for value in curve.values],
        "x": curve.positions,
        "y": _rounded(curve.mean, ".6f"),
        "spread": _rounded(curve.std, ".6f"),
        "chosen": [curve.chosen.count(value) for value in curve.values],
    }


def convergence(results: Results) -> dict[str, Any]:
    """By data set and method: objective of the first repeat."""
    runs = {dataset.name: results.convergence(dataset.name) for dataset in results.present}
    return {
        # Significant digits, not decimals: objectives are of any size and change little towards the end.
        dataset: {method: _rounded(repeats[0].objective, ".8g") for method, repeats in some.items()}
        for dataset, some in runs.items()
        if some
    }


def _rounded(values: Iterable[Any], form: str = ".4f") -> list[float | None]:
    return [float(f"{value:{form}}") if is_number(value) else None for value in values]


def script_json(data: Any) -> str:
    """JSON for a script element, whatever its strings contain."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # "</script>" in a name would end the element; JSON parsers decode the escapes.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
