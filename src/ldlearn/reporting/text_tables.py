"""Tables of a report as Markdown and LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ldlearn.evaluation import Agreement, Cost, Method, Score, Spread, TaskTable
from ldlearn.reporting.style import strip_control_chars

DASH = "–"
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "±": r"$\pm$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "χ": r"$\chi$", "²": r"$^2$", "–": "--",
    "→": r"$\rightarrow$",
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A field of a table: words of ours after a name that comes from a file and may hold any sign."""

    words: str = ""
    name: str = ""
    bold: bool = False


@dataclass(frozen=True)
class TextTable:
    """A table to be written out: rows of entries, those of baselines shaded where that is possible."""

    title: str
    head: Sequence[str]
    rows: Sequence[tuple[bool, Sequence[Entry]]]
    notes: Sequence[str] = ()
    legend: str = ""

    def markdown(self) -> str:
        """The table under a heading, the legend or numbered notes below it."""
        align = ["---", *("---:" for _ in self.head[1:])]
        # The first heading is ours; the others are names from files.
        lines = [[self.head[0], *map(markdown_text, self.head[1:])], align]
        lines += [[_markdown_entry(entry) for entry in row] for _, row in self.rows]
        grid = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        notes = "\n".join(f"{place}. {markdown_text(text)}" for place, text in enumerate(self.notes, start=1))
        return f"### {markdown_text(self.title)}\n\n{grid}\n\n{self.legend}{notes}\n"

    def latex(self) -> str:
        """The table as a float (booktabs, xcolor with the option table), the legend or notes in its caption."""
        notes = " ".join(f"[{place}] {text}" for place, text in enumerate(self.notes, start=1))
        rows = [
            (r"\rowcolor{gray!15} " if shaded else "") + " & ".join(map(_latex_entry, row)) + r" \\"
            for shaded, row in self.rows
        ]
        lines = [
            r"% needs \usepackage{booktabs} and \usepackage[table]{xcolor}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex(f'{self.title}. {self.legend}{notes}'.strip())}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(self.head) - 1)}}}",
            r"\toprule",
            " & ".join(map(latex, self.head)) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
        return "\n".join(lines)


def score_table(table: TaskTable) -> TextTable:
    """One metric of one task: methods by data sets, the best of a column bold."""
    rows = []
    for method in table.methods:
        scores = [table.score(method.name, dataset) for dataset in table.datasets]
        average = Entry(number(table.average_ranks.get(method.name), ".2f"))
        rows.append(_row(method, [*(Entry(score_text(score), bold=score.best) for score in scores), average]))
    title = f"{table.task.capitalize()}: {table.metric.heading}"
    return TextTable(title, ["Method", *table.datasets, "Average rank"], rows, legend=legend_of(table))


def cost_table(found: Iterable[Cost]) -> TextTable:
    """Seconds and memory, means over cells."""
    rows = []
    for cost in found:
        seconds = [number(spread.mean if spread else None, ".3g") for spread in cost.seconds.values()]
        memory = number(cost.memory.mean if cost.memory else None, ".0f")
        rows.append(_row(cost.method, map(Entry, [*seconds, memory])))
    head = ["Method", "Selection, s", "Fit, s", "Prediction, s", "Peak memory, MB"]
    return TextTable("Time and memory", head, rows, legend="Means over cells.")


def agreement_table(found: Agreement) -> TextTable:
    """How far methods agree with each other, where there is no truth."""
    rows = [
        _row(method, [Entry(number(value)) for value in (found.means[method.name], *values)])
        for method, values in zip(found.methods, found.matrix, strict=True)
    ]
    title = f"{found.dataset}: agreement of methods, {found.task}"
    legend = "Mean intersection of their degrees, 1 if equal; the mean is over the others that are no baselines."
    return TextTable(title, ["Method", "Mean", *(method.name for method in found.methods)], rows, legend=legend)


def number(value: float | None, form: str = ".4f") -> str:
    """A number, by default with four digits after the point; a dash if there is none."""
    return DASH if value is None or math.isnan(value) else f"{value:{form}}"


def rank_text(rank: float) -> str:
    """A rank: 2, or 2.5 for a tie."""
    return f"{rank:.1f}".removesuffix(".0")


def spread_text(spread: Spread | None) -> str:
    """Mean and standard deviation; only the mean of a single repeat."""
    if spread is None:
        return DASH
    return f"{spread.mean:.4f} ± {spread.std:.4f}" if spread.n > 1 else f"{spread.mean:.4f}"


def score_text(score: Score) -> str:
    """A score as ``0.1234 ± 0.0056 (2)``, or the word failed."""
    if score.spread is None:
        return "failed" if score.n_failed else DASH
    rank = "" if score.rank is None else f" ({rank_text(score.rank)})"
    return spread_text(score.spread) + rank + (f" [{score.n_failed} failed]" if score.n_failed else "")


def legend_of(table: TaskTable) -> str:
    """How to read a table."""
    repeats = f"mean ± standard deviation over {table.n_repeats} repeats" if table.n_repeats > 1 else "one repeat"
    said = f"{repeats.capitalize()}, rank in parentheses, best in bold."
    if any(method.is_reference for method in table.methods):
        said += " Methods trained on true distributions are not ranked."
    return said


def _row(method: Method, entries: Iterable[Entry]) -> tuple[bool, list[Entry]]:
    """A row of a method: whether it is shaded, the method with its role, and the rest."""
    roles = ["baseline"] * method.is_baseline + ["true distributions"] * method.is_reference
    return method.is_baseline, [Entry(f" [{', '.join(roles)}]" if roles else "", method.name), *entries]


def _markdown_entry(entry: Entry) -> str:
    text = markdown_text(entry.name) + entry.words
    return f"**{text}**" if entry.bold else text


def _latex_entry(entry: Entry) -> str:
    text = latex(entry.name + entry.words)
    return rf"\textbf{{{text}}}" if entry.bold else text


def markdown_text(text: str) -> str:
    """Text that Markdown prints letter by letter."""
    return re.sub(r"([\\`*_{}\[\]<>|#~&$])", r"\\\1", strip_control_chars(text))


def latex(text: str) -> str:
    """Text that LaTeX prints letter by letter."""
    return "".join(_LATEX.get(sign, sign) for sign in strip_control_chars(text))
