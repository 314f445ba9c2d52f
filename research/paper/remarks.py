"""Printed scores with remarks on known errors."""

from __future__ import annotations

from functools import cache

from research.paper.printed_tables import (
    BLOCKS,
    PAPER_METRICS,
    Block,
    PrintedCell,
    printed_cells,
    read_rows,
)
from research.paper.ranks import ranked_tables


@cache
def printed_scores() -> dict[tuple[str, str], dict[tuple[str, str], PrintedCell]]:
    """By (key of the block, metric of ours): scores by (abbreviated data set, method of the
    paper)."""
    tables: dict[tuple[str, str], dict[tuple[str, str], PrintedCell]] = {}
    for block in BLOCKS:
        for cell in block.scores(printed_cells()):
            found = tables.setdefault((block.key, PAPER_METRICS[cell.metric]), {})
            found[cell.dataset, cell.method] = _with_remarks(block, cell)
    return tables


def _with_remarks(block: Block, cell: PrintedCell) -> PrintedCell:
    place = {"metric": cell.metric, "dataset": cell.dataset, "method": cell.method}
    remarks = tuple(
        row["remark"]
        for row in read_rows("remarks")
        if row["table"] in block.tables
        and all(row[key] in ("*", name) for key, name in place.items())
    )
    # The first table of the block with a wrong rank is the one to show, wherever the value comes
    # from.
    for table in block.tables:
        if wrong := _wrong_ranks().get((table, *place.values())):
            printed, right = wrong
            note = (
                f"Table {table} prints another rank than its values give; the right one stands "
                f"after the arrow."
            )
            return cell._replace(rank=printed, right_rank=right, remarks=(note, *remarks))
    return cell._replace(remarks=remarks)


@cache
def _wrong_ranks() -> dict[tuple[str, ...], tuple[str, str]]:
    """By table, metric, data set and method: the printed rank and the right one, where they
    differ."""
    return {
        cell[:4]: (cell.rank, right)
        for of in ranked_tables(printed_cells())
        for cell, right in of.wrong()
    }
