"""`ldlearn compare`: metrics between two files of distributions."""

from __future__ import annotations

import json
import math
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldlearn.errors import TableError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

_SUM_TOLERANCE = 1e-3


def compare(
    truth: Annotated[str, typer.Argument(help="File of the true distributions (.csv, .tsv, .jsonl, .parquet, .npz).")],
    other: Annotated[str, typer.Argument(help="File of what is compared with them.")],
    labels: Annotated[
        list[str] | None,
        typer.Option(help="Label columns: a name or a pattern such as 'emotion_*'; may be repeated. All by default."),
    ] = None,
    metric: Annotated[list[str] | None, typer.Option(help="Only this metric; may be repeated.")] = None,
    convention: Annotated[
        str, typer.Option(help="What happens to zeros: exact, pyldl, dldl, dldl-recovery.")
    ] = "exact",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare two files of distributions, row by row: mean of every metric."""
    from ldlearn.metrics import CONVENTIONS, score_all

    if convention not in CONVENTIONS:
        raise typer.BadParameter(f"--convention must be one of {', '.join(CONVENTIONS)}, got {convention!r}.")
    D, P, names = _read_pair(truth, other, labels or [])
    scores = score_all(D, P, metric or None, convention=convention)
    if as_json:
        finite = {name: value if math.isfinite(value) else None for name, value in scores.items()}
        typer.echo(json.dumps({"rows": len(D), "labels": names, "scores": finite}, ensure_ascii=False))
        return
    _print(scores, len(D), names)


def _print(scores: dict[str, float], rows: int, names: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    from ldlearn.metrics import get_metric

    table = Table("Metric", "Mean", box=None, header_style="bold", title_justify="left")
    table.columns[1].justify = "right"
    for name, value in scores.items():
        table.add_row(get_metric(name).heading, f"{value:.6g}")
    console = Console()
    console.print(table)
    console.print(f"{rows} rows, {len(names)} labels.", highlight=False)


def _read_pair(
    first: str, second: str, patterns: list[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
    from ldlearn.io.formats import open_table

    frames = []
    for file in (first, second):
        with open_table(file) as source:
            names = _label_columns(source.names, patterns, file)
            frames.append(source.read(dict.fromkeys(names, "number")))
    names = list(frames[0].columns)
    missing = sorted(set(names) ^ set(frames[1].columns))
    if missing:
        raise TableError(
            f"{first} and {second} must have the same label columns, but {missing[0]!r} is only in "
            f"{first if missing[0] in names else second}; choose columns with --labels."
        )
    if len(frames[0]) != len(frames[1]):
        raise TableError(f"{first} has {len(frames[0])} rows but {second} has {len(frames[1])}; they must match.")
    return _matrix(frames[0], first), _matrix(frames[1][names], second), names


def _label_columns(names: list[str], patterns: list[str], file: str) -> list[str]:
    for pattern in patterns:
        if not any(fnmatch(name, pattern) for name in names):
            raise TableError(f"{file} has no column {pattern!r}; its columns are {', '.join(names[:20])}.")
    return [name for name in names if not patterns or any(fnmatch(name, pattern) for pattern in patterns)]


def _matrix(frame: Any, file: str) -> Matrix:
    import numpy as np

    D: Matrix = frame.to_numpy(dtype=np.float64)
    if not len(D):
        raise TableError(f"{file} has no rows.")
    wrong = ~(np.abs(D.sum(axis=1) - 1.0) <= _SUM_TOLERANCE) | (D < 0).any(axis=1)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise TableError(
            f"Row {row + 1} of {file} is no distribution (it sums to {D[row].sum():.4g}, its smallest degree is "
            f"{D[row].min():.4g}); if other columns stand beside the labels, choose with --labels."
        )
    return D
