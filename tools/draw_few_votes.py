"""Draw the picture of the page "A few votes per row": votes, recovered degrees and all votes of
three texts.

    python tools/draw_few_votes.py

runs the code of docs/few_votes.md, which chooses the texts, and writes
docs/_static/few_votes-light.svg and few_votes-dark.svg.
"""

import sys
import tempfile
import textwrap
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs" / "_ext"))

from page_runner import find_blocks, start

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "few_votes.md"
TARGET = DOCS / "_static"
COLOURS = {
    "light": {
        "ink": "#1f2430",
        "muted": "#5d6675",
        "rule": "#dfe3e8",
        "degree": "#3f97cf",
        "vote": "#a9b0bb",
    },
    "dark": {
        "ink": "#e6e9ee",
        "muted": "#9ba5b4",
        "rule": "#39414d",
        "degree": "#1f7fbf",
        "vote": "#6b7585",
    },
}
WIDTH = 500  # narrow, to be readable on a phone
LEFT = 108  # where a degree of 0 is
SCALE = WIDTH - LEFT - 14  # length of a degree of 1
BAR, STEP = 10, 32  # height of a bar and of a label
LINE = 20  # height of a line of text
VALUES = ("three", "degrees", "lower", "upper", "shares")  # variables of the page
Ink = dict[str, str]


def pictures(page: dict[str, Any]) -> dict[str, str]:
    """The pictures, by the names of their files, from the variables of the page."""
    return {f"few_votes-{mode}.svg": draw(page, ink) for mode, ink in COLOURS.items()}


def draw(page: dict[str, Any], ink: Ink) -> str:
    """The legend, and one panel for each text."""
    parts = list(draw_legend(ink))
    top = 64.0
    for row in page["typical"]:
        for text in textwrap.wrap(f"“{page['tweets'].texts[row]}”", 48):
            top += LINE
            parts.append(write(0, top, text, ink["ink"], 15, weight=600))
        top += 14
        parts += draw_axis(top, STEP * len(page["labels"]), ink)
        for j, label in enumerate(page["labels"]):
            values = {name: float(page[name][row, j]) for name in VALUES}
            parts += draw_label(top + STEP * j, label, values, ink)
        top += STEP * len(page["labels"]) + 34
    font = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top - 12:.0f}" '
        f'font-family="{font}" role="img">'
    )
    title = "<title>Three votes, recovered degrees and the shares of all votes of texts</title>"
    return "\n".join([opening, title, *parts, "</svg>\n"])


def draw_legend(ink: Ink) -> Iterator[str]:
    yield bar(0, 8, 26, ink["vote"])
    yield write(34, 18, "raw shares of three votes", ink["ink"], 15)
    yield bar(0, 34, 26, ink["degree"])
    yield line(13, 26, 39, 39, ink["ink"], 1.6)
    yield write(34, 44, "recovered degrees, 90 % intervals", ink["ink"], 15)
    yield line(302, 302, 6, 24, ink["ink"], 3)
    yield write(312, 18, "shares of all votes", ink["ink"], 15)


def draw_axis(top: float, height: float, ink: Ink) -> Iterator[str]:
    for degree in (0.0, 0.5, 1.0):
        x = LEFT + SCALE * degree
        yield line(x, x, top, top + height, ink["rule"], 1)
        name = f"{degree:g}"
        yield write(x, top + height + 15, name, ink["muted"], 13, anchor="middle")


def draw_label(top: float, label: str, values: dict[str, float], ink: Ink) -> Iterator[str]:
    """A label: a dot for each vote, two bars, an interval, and a mark at the share of all votes."""
    first, second = top + 5, top + 5 + BAR + 1
    yield write(0, top + 21, label, ink["ink"], 15)
    for i in range(round(values["three"])):
        x = 66 + 12 * i
        yield f'<circle cx="{x}" cy="{top + 16:.1f}" r="4.5" fill="{ink["muted"]}"/>'
    yield bar(LEFT, first, SCALE * values["three"] / 3, ink["vote"])
    yield bar(LEFT, second, SCALE * values["degrees"], ink["degree"])
    ends = [LEFT + SCALE * values[name] for name in ("lower", "upper")]
    yield line(*ends, second + BAR / 2, second + BAR / 2, ink["ink"], 1.6)
    x = LEFT + SCALE * values["shares"]
    yield line(x, x, first - 2, second + BAR + 2, ink["ink"], 3)


def write(
    x: float, y: float, text: str, colour: str, size: int, weight: int = 400, anchor: str = "start"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}" '
        f'font-weight="{weight}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def bar(x: float, y: float, length: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>'


def line(x1: float, x2: float, y1: float, y2: float, colour: str, width: float) -> str:
    return (
        f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}" '
        f'stroke="{colour}" stroke-width="{width}"/>'
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "page")
        folder.mkdir()
        session = start(PAGE, folder)
        for block in find_blocks(PAGE.read_text(encoding="utf-8")):
            session.run(block)
    for name, picture in pictures(session.namespace).items():
        (TARGET / name).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
