"""`ldlearn demo`: all steps on real data, in a minute."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ldlearn.cli.app import load_command
from ldlearn.datasets import load_vader_tweets
from ldlearn.tables.formats import write_table
from ldlearn.tables.values import import_pandas

_N_TRAIN = 3000
# Each label joins some of the nine ratings from -4 to 4.
_LABELS = {"very_negative": [0, 1], "negative": [2, 3], "neutral": [4], "positive": [5, 6], "very_positive": [7, 8]}


def demo(
    folder: Annotated[str, typer.Option(metavar="FOLDER", help="Folder for the files of the demo.")] = "ldlearn-demo",
    rows: Annotated[int, typer.Option(min=100, help="Maximum number of training rows.")] = _N_TRAIN,
) -> None:
    """Run all steps on real data: tweets rated by 20 to 99 people.

    The model is fitted on 0/1 labels only. Each step is a command that you can type; the files stay in FOLDER.

    \b
    ldlearn demo
    ldlearn demo --folder play --rows 500
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    _write_tables(place, rows)
    model = place / "model.ldl"
    _print_step("1. Fit a model on 0/1 labels: a label is 1 if at least one rater gave it.")
    _run("fit", place / "train.csv", "--labels", ",".join(_LABELS), "--output", model, "--id", "tweet")
    _print_step("2. Recover the degrees of the labelled rows.")
    _run("enhance", place / "train.csv", "--model", model, "--output", place / "degrees.csv")
    _print_head(place / "train.csv", "labels", columns=["tweet", *_LABELS])
    _print_head(place / "degrees.csv", "degrees")
    _print_step("3. Predict the degrees of new tweets without labels.")
    _run("predict", place / "test.csv", "--model", model, "--output", place / "predicted.csv")
    _print_head(place / "predicted.csv", "predicted")
    _print_step("4. Compare the predictions with the true degrees, which were not used for the fit.")
    _run("evaluate", place / "truth.csv", "--model", model)
    _draw(place)
    _print_step("5. Write a model card: training data, parameters, scores and warnings.")
    _run("inspect", model, "--html", place / "card.html")


def _write_tables(place: Path, rows: int) -> None:
    pandas = import_pandas()
    data = load_vader_tweets()
    tweets = pandas.DataFrame(data.X, columns=list(data.feature_names))
    tweets.insert(0, "tweet", [f"t{i}" for i in range(len(tweets))])
    degrees = pandas.DataFrame({label: data.D[:, ratings].sum(axis=1) for label, ratings in _LABELS.items()})
    # The test rows do not depend on the number of training rows.
    test, train = slice(_N_TRAIN, None), slice(min(rows, _N_TRAIN))
    labelled = tweets.join((degrees > 0).astype(int))
    for name, table in {"train": labelled[train], "test": tweets[test], "truth": tweets.join(degrees)[test]}.items():
        write_table(str(place / f"{name}.csv"), [table])


def _draw(place: Path) -> None:
    """Draw three predictions and their true degrees, if matplotlib is installed."""
    try:
        from ldlearn.reporting import DistributionBarsDisplay
    except ImportError as error:
        typer.echo(f"(no figure: {error})")
        return
    read = import_pandas().read_csv
    predicted, truth = (read(place / name)[list(_LABELS)] for name in ("predicted.csv", "truth.csv"))
    display = DistributionBarsDisplay.from_distributions(
        {"predicted": predicted}, truth=truth, rows=[0, 7, 12], label_names=list(_LABELS)
    )
    path = display.save(place / "figure.png")
    typer.echo(f"figure: {path} (bars: predicted degrees; vertical lines: true degrees)")


def _print_step(text: str) -> None:
    typer.secho(f"\n{text}", bold=True)


def _run(*arguments: str | Path) -> None:
    """Print a command as it would be typed, and run it in this process, which has done the imports."""
    name, *rest = map(str, arguments)
    typer.secho(f"$ {shlex.join(['ldlearn', name, *rest])}", fg="green")
    command = load_command(name)
    with command.make_context(name, rest) as context:
        command.invoke(context)


def _print_head(path: Path, title: str, columns: list[str] | None = None) -> None:
    frame = import_pandas().read_csv(path, nrows=3, usecols=columns)
    typer.echo(f"{title}:\n{frame.to_string(index=False, float_format='{:.2f}'.format)}")
