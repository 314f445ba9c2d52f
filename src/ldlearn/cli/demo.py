"""`ldlearn demo`: all steps on real data, in a minute."""

import shlex
import textwrap
from pathlib import Path
from typing import Annotated

import typer

from ldlearn.cli.app import load_command
from ldlearn.datasets import load_vader_texts, load_vader_tweets
from ldlearn.tables.formats import write_table
from ldlearn.tables.values import import_pandas

_N_TRAIN = 3000
# Each label joins some of the nine ratings from -4 to 4.
_LABELS = {"awful": [0, 1], "bad": [2, 3], "neutral": [4], "good": [5, 6], "great": [7, 8]}
# Rows to print: short texts without names and links.
_SHOWN_TRAIN = [24, 28, 69, 79, 84]
_SHOWN_TEST = [15, 106, 141, 206, 222, 231, 248, 266, 288, 294]


def demo(
    folder: Annotated[
        str, typer.Option(metavar="FOLDER", help="Folder for the files of the demo.")
    ] = "ldlearn-demo",
    rows: Annotated[int, typer.Option(min=100, help="Maximum number of training rows.")] = _N_TRAIN,
) -> None:
    """Run all steps on real data: texts of tweets, rated by 20 to 99 people.

    The model is fitted on 0/1 labels only. Each step is a command that you can type; the files stay
    in FOLDER.

    \b
    ldlearn demo
    ldlearn demo --folder play --rows 500
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    _write_tables(place, rows)
    model = place / "model.ldl"
    _print_step(
        "1. Fit a model on texts with 0/1 labels: a label is 1 if at least one rater gave it."
    )
    _print_rows(place / "train.csv", _SHOWN_TRAIN, digits=0)
    _run_command("fit", place / "train.csv", "--labels", ",".join(_LABELS), "--output", model)
    _print_step("2. Recover the degrees of the labelled texts.")
    _run_command(
        "enhance",
        place / "train.csv",
        "--model",
        model,
        "--keep",
        "text",
        "--output",
        place / "degrees.csv",
    )
    _print_rows(place / "degrees.csv", _SHOWN_TRAIN)
    _print_step("3. Predict the degrees of new texts without labels.")
    _run_command(
        "predict",
        place / "test.csv",
        "--model",
        model,
        "--keep",
        "text",
        "--output",
        place / "predicted.csv",
    )
    _print_rows(place / "predicted.csv", _SHOWN_TEST)
    _print_step(
        "4. Compare the predictions with the shares of the votes, which were not used for the fit."
    )
    _run_command("evaluate", place / "truth.csv", "--model", model)
    _draw_predictions(place)
    _print_step("5. Write a model card: training data, parameters, scores and warnings.")
    _run_command("inspect", model, "--html", place / "card.html")
    _print_step(
        "6. Write a page to search, sort and export the labelled texts; "
        "open both pages in a browser."
    )
    _run_command("browse", place / "train.csv", "--model", model, "--output", place / "browse.html")


def _write_tables(place: Path, rows: int) -> None:
    pandas = import_pandas()
    data = load_vader_tweets()
    texts = pandas.DataFrame({"text": load_vader_texts()})
    degrees = pandas.DataFrame(
        {label: data.D[:, ratings].sum(axis=1) for label, ratings in _LABELS.items()}
    )
    # The test rows do not depend on the number of training rows.
    test = slice(_N_TRAIN, None)
    train = slice(min(rows, _N_TRAIN))
    labelled = texts.join((degrees > 0).astype(int))
    for name, table in {
        "train": labelled[train],
        "test": texts[test],
        "truth": texts.join(degrees)[test],
    }.items():
        write_table(str(place / f"{name}.csv"), [table])


def _draw_predictions(place: Path) -> None:
    """Draw three predictions and their true degrees, if matplotlib is installed."""
    try:
        from ldlearn.reporting import DistributionBarsDisplay
    except ImportError as error:
        typer.echo(f"(no figure: {error})")
        return
    predicted, truth = (
        import_pandas().read_csv(place / name) for name in ("predicted.csv", "truth.csv")
    )
    labels = list(_LABELS)
    display = DistributionBarsDisplay.from_distributions(
        {"predicted": predicted[labels]},
        truth=truth[labels],
        rows=[206, 231, 294],
        texts=truth["text"],
        label_names=labels,
    )
    path = display.save(place / "figure.png")
    typer.echo(f"figure: {path} (bars: predicted degrees; vertical lines: shares of the votes)")


def _print_step(text: str) -> None:
    typer.secho(f"\n{text}", bold=True)


def _run_command(*arguments: str | Path) -> None:
    """Print a command as it would be typed, and run it in this process.

    This process has done the imports already.
    """
    name, *rest = map(str, arguments)
    typer.secho(f"$ {shlex.join(['ldlearn', name, *rest])}", fg="green")
    command = load_command(name)
    with command.make_context(name, rest) as context:
        command.invoke(context)


def _print_rows(path: Path, rows: list[int], digits: int = 2) -> None:
    table = import_pandas().read_csv(path).iloc[rows]
    typer.echo(" " * 40 + "".join(f"{label:>8}" for label in _LABELS))
    for text, *degrees in table[["text", *_LABELS]].itertuples(index=False):
        typer.echo(
            f"{textwrap.shorten(text, 39, placeholder='…'):40}"
            + "".join(f"{d:8.{digits}f}" for d in degrees)
        )
