"""Draw the picture of ARCHITECTURE.md: the layers of the library, and three walks through them.

    python tools/draw_architecture.py

writes docs/_static/architecture-light.svg and architecture-dark.svg. The layers are those that
import-linter checks (pyproject.toml).
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "_static"
# Of texts and boxes, then of the three walks
COLOURS = {
    "light": (
        {"ink": "#1f2430", "muted": "#5d6675", "box": "#f3f5f8", "rule": "#cfd5dd"},
        ("#0072b2", "#b34700", "#00745a"),
    ),
    "dark": (
        {"ink": "#e6e9ee", "muted": "#a5afbd", "box": "#20262f", "rule": "#465060"},
        ("#5cb3ea", "#f0944d", "#3fc39e"),
    ),
}
PURPOSES = {
    "cli": "the command ldlearn",
    "reporting": "figures, reports",
    "experiments": "plan, cells, records",
    "datasets | evaluation": "data; results, statistics",
    "tables": "files, columns, model files",
    "compose | dask": "made of estimators; on clusters",
    "enhancement | learning | joint": "one file per method",
    "uncertainty": "intervals, posterior",
    "base": "kinds of estimator, validation",
    "solvers | metrics": "minimisers; scores",
    "core": "functions of arrays",
    "_messages | _optional_imports": "parts of messages",
    "exceptions": "errors users can correct",
}
# The layers of the steps that ARCHITECTURE.md describes, in their order
METHODS = "enhancement | learning | joint"
WALKS = {
    "fit": ["base", METHODS, "solvers | metrics", "solvers | metrics", METHODS],
    "table": ["cli", "tables", METHODS, "tables"],
    "experiment": ["cli", "experiments", METHODS, "datasets | evaluation", "reporting"],
}
WIDTH = 560
TOP = 60
STEP = 46
BOX_WIDTH = 296
FIRST_WALK, WALK_STEP = 340, 80
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


def layers() -> list[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return list(settings["tool"]["importlinter"]["contracts"][0]["layers"])


def draw(colours: dict[str, str], walk_colours: tuple[str, ...]) -> str:
    """The picture with the given colours: layers as boxes, walks as lines beside them."""
    names = layers()
    height = TOP + STEP * len(names)
    title = "The layers of ldlearn from the command line down to its errors, and three walks"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="{FONT}" role="img">',
        f"<title>{title}</title>",
        write(0, 22, "Layers", colours["ink"], 18, 600),
        write(0, 44, "imports go down, never up", colours["muted"], 15),
        write(FIRST_WALK - 15, 22, "Three walks", colours["ink"], 18, 600),
    ]
    for k, name in enumerate(names):
        y = TOP + STEP * k
        parts.append(
            f'<rect x="0.5" y="{y + 0.5}" width="{BOX_WIDTH}" height="{STEP - 6}" rx="5" '
            f'fill="{colours["box"]}" stroke="{colours["rule"]}"/>'
        )
        parts.append(write(10, y + 18, name, colours["ink"], 16, 600))
        parts.append(write(10, y + 34, PURPOSES[name], colours["muted"], 14))
    for k, (walk, steps) in enumerate(WALKS.items()):
        x = FIRST_WALK + WALK_STEP * k
        parts += draw_walk(x, walk, [names.index(step) for step in steps], walk_colours[k], colours)
    return "\n".join([*parts, "</svg>\n"])


def draw_walk(
    x: float, name: str, rows: list[int], colour: str, colours: dict[str, str]
) -> list[str]:
    """A line with a mark in each row that holds the numbers of its steps."""
    middle = TOP + (STEP - 6) / 2
    top = middle + STEP * min(rows)
    bottom = middle + STEP * max(rows)
    line = f'<line x1="{x}" x2="{x}" y1="{top}" y2="{bottom}" stroke="{colour}" stroke-width="3"/>'
    parts = [write(x, 44, name, colour, 16, 600, "middle"), line]
    for row in sorted(set(rows)):
        y = middle + STEP * row
        numbers = " ".join(str(k + 1) for k, other in enumerate(rows) if other == row)
        width = 14 + 10 * len(numbers)
        parts.append(
            f'<rect x="{x - width / 2}" y="{y - 13}" width="{width}" height="26" rx="13" '
            f'fill="{colours["box"]}" stroke="{colour}" stroke-width="2.5"/>'
        )
        parts.append(write(x, y + 6, numbers, colours["ink"], 16, 600, "middle"))
    return parts


def write(
    x: float,
    y: float,
    text: str,
    colour: str,
    size: float,
    weight: int = 400,
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


def pictures() -> dict[str, str]:
    """The content of the files by their names."""
    return {f"architecture-{mode}.svg": draw(*colours) for mode, colours in COLOURS.items()}


if __name__ == "__main__":
    for name, content in pictures().items():
        (TARGET / name).write_text(content, encoding="utf-8")
