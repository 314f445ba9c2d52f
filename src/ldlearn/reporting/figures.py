"""Figures of a report: displays as files, and as SVG with the colours of the page."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ldlearn.evaluation import Results, Task, TaskTable
from ldlearn.reporting import experiment_displays as displays
from ldlearn.reporting import style
from ldlearn.reporting.conclusions import Conclusion
from ldlearn.reporting.display import Display
from ldlearn.reporting.model_displays import DistributionBarsDisplay

# Colours of the displays, and their names in the style sheet of the page.
_THEME = {getattr(style, name.upper()): name for name in ("ink", "muted", "rule", "band")}
_THEME |= {color: f"c{i}" for i, color in enumerate(style.PALETTE)}


def page_figures(
    results: Results,
    tables: Sequence[TaskTable],
    conclusions: Mapping[tuple[Task, str], Conclusion],
    max_methods: int = 12,
) -> dict[str, Display]:
    """The figures of the page, by file name; differences are drawn for the best methods and the subject of the plan."""
    found: dict[str, Display] = {}
    baselines = [method.name for method in results.methods.values() if method.is_baseline]
    for table in tables:
        task, metric = table.task, table.metric.name
        ranked = [method.name for method in table.ranked if not method.is_baseline]
        if table.baselines and ranked:
            names = [name for i, name in enumerate(ranked) if i < max_methods or name == results.subject]
            display = displays.DifferencesDisplay.from_records(results, metric, task=task, methods=names)
            found[f"differences-{task}-{metric}"] = display
        if (pairs := conclusions[task, metric].pairs) is not None:
            diagram = displays.CriticalDifferenceDisplay(pairs, muted=baselines)
            found[f"critical-difference-{task}-{metric}"] = diagram.plot()
    if results.finished():
        found["time-and-memory"] = displays.TimeMemoryDisplay.from_records(results)
    return found


def further_figures(results: Results, data: Mapping[str, Any]) -> Iterator[tuple[str, Display]]:
    """Figures that are only written as files, by file name: the page draws the same from its data."""
    for dataset in data["convergence"]:
        yield f"convergence-{file_name(dataset)}", displays.ConvergenceDisplay.from_records(results, dataset)
    for dataset, methods in data["sensitivity"].items():
        # The page has all methods; as files, the subject of the plan.
        if (subject := results.subject) is not None and subject in methods:
            display = displays.SensitivityDisplay.from_records(results, dataset, subject)
            yield f"sensitivity-{file_name(dataset)}", display
    for dataset in data["samples"]:
        yield f"distributions-{file_name(dataset)}", DistributionBarsDisplay.from_records(results, dataset)


def file_name(name: str) -> str:
    """Letters, digits and single hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"


def file_content(display: Display, format: str) -> bytes:
    """A figure as a file; characters that the font lacks are drawn as boxes, without a warning for each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        # The layout is half of the work, and the same in every format.
        display.fix_layout()
        return display.to_bytes(format, dpi=160)


def inline_svg(svg: bytes, prefix: str) -> str:
    """A figure as an SVG element with the colours and the font of the page; `prefix` makes its ids unique."""
    text = svg.decode()
    # The XML declaration and the document type are not allowed inside a page.
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' (?:width|height)="[^"]*"', "", text, count=2)  # those of the whole figure come first
    # ids, and the references to them (clips, markers)
    text = re.sub(r'((?<= )id="|href="#|url\(#)', rf"\g<1>{prefix}-", text)
    text = re.sub(r'style="([^"]*)"', _theme_style, text)
    # On a wide page a figure is little larger than drawn; on a narrow one it scrolls, so that it stays readable.
    # matplotlib uses points, 72 to an inch, and browsers pixels, 96 to an inch.
    width = float(re.search(r'viewBox="0 0 ([\d.]+) ', text)[1]) * 4 / 3  # type: ignore[index]
    text = text.replace("<svg", f'<svg style="max-width: {1.15 * width:.0f}px; min-width: {min(width, 640):.0f}px"', 1)
    # The white background of the figure is its first patch.
    return text.replace("fill: #ffffff", "fill: none")


def _theme_style(match: re.Match[str]) -> str:
    style = match[1]
    for color, name in _THEME.items():
        style = style.replace(color, f"var(--{name})")
    # matplotlib writes weight, size and family as one "font"; the family is that of the page.
    style = re.sub(
        r"font: (bold )?([\d.]+px) [^;]*", lambda m: f"font-weight: {m[1] or 'normal'}; font-size: {m[2]}", style
    )
    return f'style="{style}"'
