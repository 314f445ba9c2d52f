"""The printed tables beside those of a run, as Markdown and LaTeX."""

from __future__ import annotations

from ldlearn.reporting.text_tables import DASH, Entry, TextTable, spread_text
from research.paper.comparison import PairedScore, PairedTable


def paired_table(table: PairedTable) -> TextTable:
    """The paper beside ours, with its notes."""
    head = ["Method of the paper", "Method here", *(f"{d}: {who}" for d in table.datasets for who in ("paper", "here"))]
    rows = []
    for row in table.rows:
        here = Entry(name=row.method.name) if row.method else Entry("not run")
        scores = [row.scores[dataset] for dataset in table.datasets]
        texts = [Entry(text) for score in scores for text in (_printed_text(score), spread_text(score.ours))]
        rows.append((False, [Entry(name=row.paper_method), here, *texts]))
    if table.baselines:
        named = {d: f"{spread_text(spread)} ({name})" for d, (name, spread) in table.baselines.items()}
        best = [Entry(name=text) for d in table.datasets for text in ("", named.get(d, DASH))]
        rows.append((True, [Entry(), Entry("best baseline"), *best]))
    return TextTable(f"{table.block.title}: {table.metric.heading}", head, rows, notes=table.notes)


def _printed_text(score: PairedScore) -> str:
    """What the paper prints: mean, deviation, rank with the right one if that differs, and the numbers of notes."""
    if score.printed is None:
        return DASH
    arrow = f" → {score.printed.right_rank}" if score.printed.right_rank else ""
    rank = f" ({score.printed.rank}{arrow})" if score.printed.rank else ""
    return score.printed.score + rank + (f" {list(score.notes)}" if score.notes else "")
