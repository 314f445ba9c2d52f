"""Output about the agreement of raters, for the commands that read annotations."""

from typing import Any

import numpy as np

from ldlearn.cli.console import print_result, print_table
from ldlearn.tables.annotations import Annotations

_LONGEST_TABLE = 10


def agreement_facts(found: Annotations) -> dict[str, Any]:
    """Alpha with its interval, by label too, and the agreement of each rater, for JSON."""
    alpha = found.alpha
    by_label = zip(alpha.by_label, alpha.low_by_label, alpha.high_by_label, strict=True)
    return {
        "alpha": alpha[:3],
        "alpha_by_label": dict(zip(found.labels, by_label, strict=True)),
        "raters": found.raters.to_dict("records"),
        "raters_at_chance": found.raters_at_chance,
    }


def print_agreement(found: Annotations, *, tables: bool) -> None:
    """Print what is known of the agreement; with tables of the lowest labels and raters."""
    sentences = found.describe_agreement()
    if tables and sentences:
        _print_labels(found)
        _print_raters(found)
    for sentence in sentences:
        print_result(sentence)
    if found.raters_at_chance:
        print_result("--exclude-raters chance leaves them out.")


def _print_labels(found: Annotations) -> None:
    alpha = found.alpha
    rows = []
    for position in np.argsort(alpha.by_label)[:_LONGEST_TABLE]:
        each = (alpha.by_label, alpha.low_by_label, alpha.high_by_label)
        numbers = [_format(values[position]) for values in each]
        rows.append([found.labels[position], *numbers])
    title = _heading("Label", len(found.labels))
    print_table([title, "alpha", "low", "high"], rows, n_numeric=3)


def _print_raters(found: Annotations) -> None:
    rows = []
    for rater in found.raters.head(_LONGEST_TABLE).to_dict("records"):
        numbers = [_format(rater[name]) for name in ("agreement", "chance", "low", "high")]
        rows.append([rater["rater"], rater["verdict"], rater["annotations"], *numbers])
    headings = ["annotations", "agreement", "chance", "low", "high"]
    title = _heading("Rater", len(found.raters))
    if rows:
        print_table([title, "", *headings], rows, n_numeric=len(headings))


def _format(number: float) -> str:
    """Three decimals; nothing for a number that is unknown."""
    return "" if np.isnan(number) else f"{number:z.3f}"


def _heading(what: str, number: int) -> str:
    """What the rows are, and that they are not all."""
    if number <= _LONGEST_TABLE:
        return what
    return f"{what} (lowest {_LONGEST_TABLE} of {number:,})"
