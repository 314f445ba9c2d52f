"""`ldlearn demo`: the whole way on real data, in a minute."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ldlearn.cli.app import find_command, load_command
from ldlearn.datasets import load_vader_tweets
from ldlearn.exceptions import TableError
from ldlearn.tables.formats import open_output
from ldlearn.tables.values import import_pandas

_FIRST_TEST_ROW = 3000
# Each is some of the nine ratings from -4 to 4.
_LABELS = {"very_negative": [0, 1], "negative": [2, 3], "neutral": [4], "positive": [5, 6], "very_positive": [7, 8]}


def demo(
    folder: Annotated[str, typer.Option(metavar="FOLDER", help="Where the files of the demo go.")] = "ldlearn-demo",
    rows: Annotated[int, typer.Option(min=100, help="Training rows at most; fewer are quicker.")] = _FIRST_TEST_ROW,
) -> None:
    """Show the whole way on real data: tweets that 20 to 99 people rated.

    The model sees the ratings only as 0/1 labels. Each step is a command you can type; the files stay in FOLDER.

    \b
    ldlearn demo
    ldlearn demo --folder play --rows 500
    """
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise TableError(f"{folder}: it is not a folder.")
    place.mkdir(parents=True, exist_ok=True)
    _write_tables(place, rows)
    model = place / "model.ldl"
    _say("1. 0/1 labels: every feeling that some rater saw in a tweet is 1. A model is one line.")
    _run("fit", place / "train.csv", "--labels", ",".join(_LABELS), "--output", model, "--id", "tweet")
    _say("2. Degrees for the rows you labelled: not only which, but how much.")
    _run("enhance", place / "train.csv", "--model", model, "--output", place / "degrees.csv")
    _show_head(place / "train.csv", "labels", columns=["tweet", *_LABELS])
    _show_head(place / "degrees.csv", "degrees")
    _say("3. Degrees for new tweets, which nobody has labelled.")
    _run("predict", place / "test.csv", "--model", model, "--output", place / "predicted.csv")
    _show_head(place / "predicted.csv", "predicted")
    _say("4. Were they right? The raters' true shares were never shown to the model.")
    _run("evaluate", place / "truth.csv", "--model", model)
    _draw(place)
    _say("5. A page that says what the model is and how far to trust it.")
    _run("inspect", model, "--html", place / "card.html")


def _write_tables(place: Path, rows: int) -> None:
    pandas = import_pandas()
    data = load_vader_tweets()
    tweets = pandas.DataFrame(data.X, columns=list(data.feature_names))
    tweets.insert(0, "tweet", [f"t{i}" for i in range(len(tweets))])
    shares = pandas.DataFrame({label: data.D[:, ratings].sum(axis=1) for label, ratings in _LABELS.items()})
    # Test rows stay the same however few rows are trained on.
    test, train = slice(_FIRST_TEST_ROW, None), slice(min(rows, _FIRST_TEST_ROW))
    tables = {
        "train": tweets.join((shares > 0).astype(int))[train],
        "test": tweets[test],
        "truth": tweets.join(shares)[test],
    }
    for name, table in tables.items():
        with open_output(str(place / f"{name}.csv")) as sink:
            sink.write(table)


def _draw(place: Path) -> None:
    """Three predictions beside the votes, if there is something to draw with."""
    try:
        from ldlearn.reporting import DistributionBarsDisplay
    except ImportError as error:
        typer.echo(f"(no picture: {error})")
        return
    read = import_pandas().read_csv
    predicted, truth = (read(place / name)[list(_LABELS)] for name in ("predicted.csv", "truth.csv"))
    display = DistributionBarsDisplay.from_distributions(
        {"predicted": predicted}, truth=truth, rows=[0, 7, 12], label_names=list(_LABELS)
    )
    display.save(place / "picture.png")
    typer.echo(f"picture: {place / 'picture.png'} (bars: predicted; strokes: what the raters said)")


def _say(text: str) -> None:
    typer.secho(f"\n{text}", bold=True)


def _run(*typed: str | Path) -> None:
    """Show a command as it would be typed, and run it."""
    words = [str(word) for word in typed]
    typer.secho(f"$ {shlex.join(['ldlearn', *words])}", fg="green")
    # In this process: the words that are shown are those that run, without waiting for imports at every step.
    command = load_command(find_command(words[0]))
    with command.make_context(words[0], words[1:]) as context:
        command.invoke(context)


def _show_head(path: Path, title: str, columns: list[str] | None = None) -> None:
    frame = import_pandas().read_csv(path, nrows=3, usecols=columns)
    typer.echo(f"{title}:\n{frame.to_string(index=False, float_format='{:.2f}'.format)}")
