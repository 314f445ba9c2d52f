"""Tables as Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ldlearn.plotting.style import shown
from ldlearn.reporting.paper_comparison import PairedCell, PairedTable
from ldlearn.reporting.printed_results import Printed
from ldlearn.results import Cost, Method, Score, Spread, TaskTable

DASH = "–"
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "±": r"$\pm$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "χ": r"$\chi$", "²": r"$^2$", "–": "--",
    "→": r"$\rightarrow$",
}  # fmt: skip


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
    parts = [spread_text(score.spread)]
    if score.rank is not None:
        parts.append(f"({rank_text(score.rank)})")
    if score.n_failed:
        parts.append(f"[{score.n_failed} failed]")
    return " ".join(parts)


def markdown_table(table: TaskTable) -> str:
    """The table of a task and a metric as Markdown; the best of a column is bold."""
    head = ["Method", *table.datasets, "Average rank"]
    rows = []
    for method in table.methods:
        scores = [table.score(method.name, dataset) for dataset in table.datasets]
        texts = [f"**{score_text(score)}**" if score.best else score_text(score) for score in scores]
        rows.append([_with_role(method, markdown_text(method.name)), *texts, _average(table, method)])
    return f"### {caption(table)}\n\n{_markdown_grid(head, rows)}\n{legend_of(table)}\n"


def latex_table(table: TaskTable) -> str:
    """The table as LaTeX (booktabs, xcolor with the option table); floors shaded, the best of a column bold."""
    head = ["Method", *table.datasets, "Average rank"]
    lines = []
    for method in table.methods:
        scores = [table.score(method.name, dataset) for dataset in table.datasets]
        texts = [rf"\textbf{{{latex(score_text(s))}}}" if s.best else latex(score_text(s)) for s in scores]
        row = " & ".join([latex(_with_role(method, method.name)), *texts, latex(_average(table, method))])
        lines.append((r"\rowcolor{gray!15} " if method.is_floor else "") + row + r" \\")
    return _latex_float([latex(name) for name in head], lines, f"{caption(table)}. {legend_of(table)}")


def markdown_paired(table: PairedTable) -> str:
    """The paper beside ours as Markdown, notes below."""
    head = ["Method of the paper", "Method here", *(f"{d}: {who}" for d in table.datasets for who in ("paper", "here"))]
    rows = [
        [markdown_text(row.paper_method), markdown_text(row.method.name) if row.method else "not run"]
        + [text for d in table.datasets for text in _paired_texts(row.cells[d])]
        for row in table.rows
    ]
    if table.floors:
        rows.append(["", "best floor", *map(markdown_text, _floor_texts(table))])
    notes = "\n".join(f"{number}. {markdown_text(text)}" for number, text in enumerate(table.notes, start=1))
    title = f"### {table.block.title}: {table.metric.heading}"
    return f"{title}\n\n{_markdown_grid(head, rows)}\n{notes}\n"


def latex_paired(table: PairedTable) -> str:
    """The paper beside ours as LaTeX, notes in the caption."""
    head = ["Paper", "Here", *(f"{d}: {who}" for d in table.datasets for who in ("paper", "here"))]
    lines = []
    for row in table.rows:
        names = [latex(row.paper_method), latex(row.method.name) if row.method else "not run"]
        cells = [latex(text) for d in table.datasets for text in _paired_texts(row.cells[d])]
        lines.append(" & ".join(names + cells) + r" \\")
    if table.floors:
        lines.append(r"\rowcolor{gray!15} & best floor & " + " & ".join(map(latex, _floor_texts(table))) + r" \\")
    notes = " ".join(f"[{number}] {text}" for number, text in enumerate(table.notes, start=1))
    return _latex_float([latex(name) for name in head], lines, f"{table.block.title}: {table.metric.heading}. {notes}")


def markdown_costs(found: Sequence[Cost]) -> str:
    """Seconds and memory as Markdown."""
    rows = [[_with_role(c.method, markdown_text(c.method.name)), *_cost_texts(c)] for c in found]
    return "### Time and memory\n\n" + _markdown_grid(["Method", *_COST_HEAD], rows)


def latex_costs(found: Sequence[Cost]) -> str:
    """Seconds and memory as LaTeX."""
    lines = [" & ".join(map(latex, [_with_role(c.method, c.method.name), *_cost_texts(c)])) + r" \\" for c in found]
    return _latex_float([latex(name) for name in ["Method", *_COST_HEAD]], lines, "Time and memory, means over cells")


_COST_HEAD = ("Selection, s", "Fit, s", "Prediction, s", "Peak memory, MB")


def _cost_texts(cost: Cost) -> list[str]:
    seconds = [DASH if spread is None else f"{spread.mean:.3g}" for spread in cost.seconds.values()]
    return [*seconds, DASH if cost.memory is None else f"{cost.memory.mean:.0f}"]


def caption(table: TaskTable) -> str:
    """What a table shows."""
    return f"{table.task.capitalize()}: {table.metric.heading}"


def legend_of(table: TaskTable) -> str:
    """How to read a table."""
    repeats = f"mean ± standard deviation over {table.n_repeats} repeats" if table.n_repeats > 1 else "one repeat"
    said = f"{repeats.capitalize()}, rank in parentheses, best in bold."
    if any(method.is_reference for method in table.methods):
        said += " Methods trained on true distributions are not ranked."
    return said


def _with_role(method: Method, name: str) -> str:
    roles = ["floor"] * method.is_floor + ["true distributions"] * method.is_reference
    return f"{name} [{', '.join(roles)}]" if roles else name


def _average(table: TaskTable, method: Method) -> str:
    return f"{table.average_ranks[method.name]:.2f}" if method.name in table.average_ranks else DASH


def _paired_texts(cell: PairedCell) -> tuple[str, str]:
    if cell.printed is None:
        return DASH, spread_text(cell.ours)
    printed = cell.printed.mean + (f" ± {cell.printed.std}" if cell.printed.std else "") + printed_rank(cell.printed)
    marks = f" [{', '.join(map(str, cell.notes))}]" if cell.notes else ""
    return printed + marks, spread_text(cell.ours)


def printed_rank(printed: Printed) -> str:
    """The printed rank, and the right one if that differs: ``(6 → 7)``."""
    arrow = f" → {printed.right_rank}" if printed.right_rank else ""
    return f" ({printed.rank}{arrow})" if printed.rank else ""


def _floor_texts(table: PairedTable) -> list[str]:
    """Cells of the row of the best floors."""
    named = {dataset: f"{spread_text(spread)} ({name})" for dataset, (name, spread) in table.floors.items()}
    return [text for dataset in table.datasets for text in ("", named.get(dataset, DASH))]


def markdown_text(text: str) -> str:
    """Text that Markdown prints letter by letter."""
    return re.sub(r"([\\`*_{}\[\]<>|#~&$])", r"\\\1", shown(text))


def _markdown_grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    align = ["---", *("---:" for _ in head[1:])]
    lines = [[head[0], *(markdown_text(name) for name in head[1:])], align, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def latex(text: str) -> str:
    """Text that LaTeX prints letter by letter."""
    return "".join(_LATEX.get(sign, sign) for sign in shown(text))


def _latex_float(head: Sequence[str], lines: Sequence[str], words: str) -> str:
    return "\n".join(
        [
            r"% needs \usepackage{booktabs} and \usepackage[table]{xcolor}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex(words)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )
