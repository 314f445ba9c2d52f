"""Draw the picture of README and home page: a text, its 0/1 labels, the recovered degrees and the
votes.

    python tools/draw_example.py

writes docs/_static/example-light.svg and example-dark.svg. The row has about the mean overlap of
all training rows, which is printed.
"""

from html import escape
from pathlib import Path

import numpy as np

from ldlearn import DLDL, UniformLE
from ldlearn.datasets import load_vader_texts, load_vader_tweets
from ldlearn.metrics import intersection

TARGET = Path(__file__).resolve().parent.parent / "docs" / "_static"
LABELS = {"awful": [0, 1], "bad": [2, 3], "neutral": [4], "good": [5, 6], "great": [7, 8]}
ROW, N_TRAIN = 130, 3000
COLOURS = {
    "light": {
        "ink": "#1f2430",
        "muted": "#5d6675",
        "rule": "#dfe3e8",
        "degree": "#0072b2",
        "vote": "#8b93a1",
    },
    "dark": {
        "ink": "#e6e9ee",
        "muted": "#9ba5b4",
        "rule": "#39414d",
        "degree": "#4aa8e0",
        "vote": "#8b95a5",
    },
}
WIDTH, TOP, STEP, BAR = (
    500,
    106,
    34,
    130,
)  # BAR: length of a degree of 1; narrow, to be readable on a phone


def draw(
    text: str, logical: np.ndarray, degrees: np.ndarray, votes: np.ndarray, ink: dict[str, str]
) -> str:
    parts = [write(0, 26, f"“{text}”", ink["ink"], 22, weight=600)]
    columns = ((74, "0/1 labels", "what you have"), (186, "degrees", "recovered by ldlearn"))
    for x, title, below in (*columns, (346, "votes", "of 97 people, not used")):
        parts += [
            write(x, 66, title, ink["ink"], 15, weight=600),
            write(x, 84, below, ink["muted"], 12.5),
        ]
    for i, label in enumerate(LABELS):
        y = TOP + STEP * i
        parts += [
            f'<line x1="0" x2="{WIDTH}" y1="{y - 5}" y2="{y - 5}" stroke="{ink["rule"]}"/>',
            write(0, y + 17, label, ink["ink"], 15),
            write(
                100,
                y + 17,
                str(logical[i]),
                ink["ink"] if logical[i] else ink["muted"],
                16,
                weight=600 * logical[i],
            ),
            *bar(186, y, degrees[i], ink["degree"], ink["ink"]),
            *bar(346, y, votes[i], ink["vote"], ink["ink"]),
        ]
    height = TOP + STEP * len(LABELS)
    font = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="{font}" role="img">'
    )
    title = (
        "<title>A text, its 0/1 labels, the degrees that ldlearn recovers, and the votes</title>"
    )
    return "\n".join([opening, title, *parts, "</svg>\n"])


def write(x: float, y: float, text: str, colour: str, size: float, weight: int = 400) -> str:
    return (
        f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}" '
        f'font-weight="{weight or 400}">{escape(text)}</text>'
    )


def bar(x: float, y: float, degree: float, colour: str, ink: str) -> list[str]:
    length = BAR * degree
    rectangle = (
        f'<rect x="{x}" y="{y + 2}" width="{length:.1f}" height="20" rx="2" fill="{colour}"/>'
    )
    return [
        rectangle,
        write(round(x + length + 8), y + 17, f"{degree:.0%}".replace("%", " %"), ink, 14),
    ]


def main() -> None:
    tweets, text = load_vader_tweets(), load_vader_texts()[ROW]
    D = np.column_stack([tweets.D[:, ratings].sum(axis=1) for ratings in LABELS.values()])[:N_TRAIN]
    X, Y = tweets.X[:N_TRAIN], (D > 0).astype(int)
    degrees = DLDL().fit(X, Y).label_distributions_
    for mode, ink in COLOURS.items():
        (TARGET / f"example-{mode}.svg").write_text(
            draw(text, Y[ROW], degrees[ROW], D[ROW], ink), encoding="utf-8"
        )
    equal = UniformLE().fit_enhance(X, Y)
    print(
        f"{text!r}: overlap {intersection(D[[ROW]], degrees[[ROW]]):.3f}, "
        f"{tweets.counts[ROW].sum()} votes"
    )
    print(
        f"all rows: {intersection(D, degrees):.3f}; equal degrees of the positive labels: "
        f"{intersection(D, equal):.3f}"
    )


if __name__ == "__main__":
    main()
