"""Sphinx extension: tables of the stored measurements, so that no score is typed into a page.

``{measured} recovery`` is a table, ``{measured-time}`` another; ``{measured-facts}`` says what was run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

STORED = Path(__file__).parents[1] / "measurements" / "which_method.json"
METRIC = "intersection"


def load() -> dict[str, Any]:
    """The stored measurements."""
    return dict(json.loads(STORED.read_text(encoding="utf-8")))


def scores(task: str, on_truth: bool, stored: dict[str, Any] | None = None) -> dict[str, dict[str, float]]:
    """Mean intersection by method and data set, of methods that saw the truth or of those that did not."""
    table: dict[str, dict[str, float]] = {}
    for row in (stored or load())["scores"]:
        if row["task"] == task and row["on_truth"] == on_truth:
            table.setdefault(row["method"], {})[row["dataset"]] = row["mean"][METRIC]
    return table


def baselines() -> set[str]:
    """Methods that look at no feature, or do what anyone would do first."""
    return {row["method"] for row in load()["scores"] if row["is_baseline"]}


class _Markdown(SphinxDirective):
    """A directive whose content is a Markdown text made by `markdown`."""

    def markdown(self) -> str:
        """The text."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Parse the text as if it stood in the page, and read the page again when the measurements change."""
        self.env.note_dependency(str(STORED))
        return list(self.parse_text_to_nodes(self.markdown()))


class Measured(_Markdown):
    """Scores, methods down, data sets across; the best of each column bold, baselines in italics."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"truth": directives.flag, "cases": directives.unchanged}

    def markdown(self) -> str:
        """The best mean first."""
        table = scores(self.arguments[0], "truth" in self.options)
        cases = [case.strip() for case in self.options.get("cases", "").split(";") if case.strip()]
        columns = cases or list(dict.fromkeys(case for row in table.values() for case in row))
        if "truth" in self.options:  # whoever sees the truth does not see which labels were made from it
            columns = list({case.partition(",")[0]: case for case in reversed(columns)}.values())[::-1]
        best = {case: max(row.get(case, 0.0) for row in table.values()) for case in columns}
        plain = baselines()
        order = sorted(table, key=lambda method: -sum(table[method].get(case, 0.0) for case in columns))
        heads = [case.partition(",")[0] for case in columns] if "truth" in self.options else columns
        lines = ["| method | " + " | ".join(heads) + " |", "|---|" + "--:|" * len(columns)]
        for method in order:
            cells = [_cell(table[method].get(case), best[case]) for case in columns]
            lines.append(f"| {_name(method, plain)} | " + " | ".join(cells) + " |")
        return "\n".join(lines)


def _cell(value: float | None, best: float) -> str:
    if value is None:
        return "failed"
    return f"**{value:.3f}**" if value == best else f"{value:.3f}"


def _name(method: str, plain: set[str]) -> str:
    shown = method.removesuffix(" on truth")
    return f"*{shown}* (baseline)" if method in plain else shown


class MeasuredTime(_Markdown):
    """Median seconds of a fit."""

    def markdown(self) -> str:
        """The quickest first."""
        seconds = load()["seconds"]
        alone = {method: time for method, time in seconds.items() if " + " not in method}
        lines = ["| method | seconds of one fit |", "|---|--:|"]
        for method, time in sorted(alone.items(), key=lambda item: item[1]):
            lines.append(f"| {method.removesuffix(' on truth')} | {'< 0.01' if time < 0.01 else f'{time:.2f}'} |")
        return "\n".join(lines)


class MeasuredFacts(_Markdown):
    """What was run, in a sentence or two, and what was not."""

    def markdown(self) -> str:
        """Sizes, splits, and what is missing."""
        from ldlearn import all_estimators

        stored = load()
        seen = {part for row in stored["scores"] for part in row["method"].removesuffix(" on truth").split(" + ")}
        known = {name for name, cls in all_estimators() if not cls.__module__.startswith("ldlearn.compose.")}
        text = (
            f"Measured with ldlearn {stored['version']}: {len(seen & known)} methods with their defaults, at most "
            f"{stored['rows']:,} rows of each set, {stored['repeats']} shuffled splits into 60 % training, 20 % "
            "validation (not used: nothing is tuned) and 20 % test rows, features standardised on the training part."
        )
        missing = sorted(known - seen)
        if missing:
            text += f" Not measured yet: {', '.join(missing)}."
        for failure in stored["failed"]:
            text += f" Failed: {failure}."
        return text


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives."""
    app.add_directive("measured", Measured)
    app.add_directive("measured-time", MeasuredTime)
    app.add_directive("measured-facts", MeasuredFacts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
