"""Figures of a report: displays as files, and as SVG that follows the colours of the page."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ldlearn.evaluation import Results, Task, TaskTable
from ldlearn.reporting.convergence import ConvergenceDisplay
from ldlearn.reporting.critical_difference import CriticalDifferenceDisplay
from ldlearn.reporting.differences import DifferencesDisplay
from ldlearn.reporting.display import Display
from ldlearn.reporting.distribution_bars import DistributionBarsDisplay
from ldlearn.reporting.sensitivity import SensitivityDisplay
from ldlearn.reporting.style import BAND, INK, MUTED, PALETTE, RULE
from ldlearn.reporting.time_memory import TimeMemoryDisplay
from ldlearn.reporting.verdicts import Verdict

_SHOWN = 12  # methods in a picture of the first screens
# Colours of the displays and what they are called in the style sheet of the page.
_THEME = {INK: "ink", MUTED: "muted", RULE: "rule", BAND: "band"} | {c: f"c{i}" for i, c in enumerate(PALETTE)}


def page_figures(
    results: Results, tables: Sequence[TaskTable], verdicts: Mapping[tuple[Task, str], Verdict]
) -> dict[str, Display]:
    """The figures of the page, by the names of their files."""
    found: dict[str, Display] = {}
    baselines = [method.name for method in results.methods.values() if method.is_baseline]
    for table in tables:
        task, metric = table.task, table.metric.name
        rivals = [method.name for method in table.ranked if not method.is_baseline]
        if table.baselines and rivals:
            # The best methods, and the one that others are compared with, wherever it stands.
            names = [name for i, name in enumerate(rivals) if i < _SHOWN or name == results.subject]
            display = DifferencesDisplay.from_records(results, metric, task=task, methods=names)
            found[f"differences-{task}-{metric}"] = display
        if (pairs := verdicts[task, metric].pairs) is not None:
            found[f"critical-difference-{task}-{metric}"] = CriticalDifferenceDisplay(pairs, muted=baselines).plot()
    if results.finished():
        found["time-and-memory"] = TimeMemoryDisplay.from_records(results)
    return found


def further_figures(results: Results, data: Mapping[str, Any]) -> Iterator[tuple[str, Display]]:
    """Figures that are only written as files, each with its name: the page draws the same from its data."""
    for dataset in data["convergence"]:
        yield f"convergence-{file_name(dataset)}", ConvergenceDisplay.from_records(results, dataset)
    for dataset, methods in data["sensitivity"].items():
        # The page has all methods; as files, the one that others are compared with.
        if (subject := results.subject) is not None and subject in methods:
            yield f"sensitivity-{file_name(dataset)}", SensitivityDisplay.from_records(results, dataset, subject)
    for dataset in data["samples"]:
        yield f"distributions-{file_name(dataset)}", DistributionBarsDisplay.from_records(results, dataset)


def file_name(name: str) -> str:
    """Letters, digits and single hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"


def file_content(display: Display, format: str) -> bytes:
    """A figure as a file; letters that the font lacks are drawn as boxes, without a warning for each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        # The layout is half of the work, and the same in every format, on the page and in files.
        display.settle_layout()
        return display.to_bytes(format, dpi=160)


def inline_svg(svg: bytes, prefix: str) -> str:
    """A figure as an SVG element whose colours and font are those of the page.

    Parameters
    ----------
    svg : bytes
        The figure as a file.
    prefix : str
        Put before every id, since ids must differ within a page.
    """
    text = svg.decode()
    # A declaration of XML and a document type cannot stand inside a page.
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' (?:width|height)="[^"]*"', "", text, count=2)  # those of the whole picture come first
    # ids and what refers to them (clips, markers) get the same prefix
    text = re.sub(r'(?<= )id="', f'id="{prefix}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", text)
    text = re.sub(r'style="([^"]*)"', _themed_style, text)
    # On a wide page a picture is little larger than drawn, on a narrow one it scrolls rather than becoming unreadable.
    # matplotlib counts points, 72 to an inch, and browsers pixels, 96 to an inch.
    width = float(re.search(r'viewBox="0 0 ([\d.]+) ', text)[1]) * 4 / 3  # type: ignore[index]
    text = text.replace("<svg", f'<svg style="max-width: {1.15 * width:.0f}px; min-width: {min(width, 640):.0f}px"', 1)
    # The white page behind the picture is its first patch.
    return text.replace("fill: #ffffff", "fill: none")


def _themed_style(match: re.Match[str]) -> str:
    style = match[1]
    for color, name in _THEME.items():
        style = style.replace(color, f"var(--{name})")
    # matplotlib writes size and family as one "font"; the family is to be that of the page.
    style = re.sub(r"font: (\d)", r"font-size: \1", style)
    style = re.sub(r"font: bold ", "font-weight: bold; font-size: ", style)
    style = re.sub(r"(font-size: [\d.]+px) [^;]*", r"\1", style)
    return f'style="{style}"'
