"""Options that several commands share, so that they mean and say the same everywhere.

A dataclass is a group of options: a command with a parameter of that type has an option for each of its fields, and is
given their values as one object (see `ldlearn.cli.app.load_command`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from ldlearn.discovery import all_estimators
from ldlearn.io.text_style import TextStyle


def complete_method(incomplete: str) -> Iterable[str]:
    """Names of methods that begin so, for the completion of the shell."""
    return [name for name, _ in all_estimators() if name.lower().startswith(incomplete.lower())]


Data = Annotated[str, typer.Argument(metavar="DATA", help="Table: .csv .xlsx .parquet ...; - a pipe.")]
Model = Annotated[str, typer.Option("--model", "-m", metavar="FILE", help="The model, an .ldl file.")]
Output = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", show_default=False, help="Table to write; default: a pipe.")
]
Labels = Annotated[str, typer.Option("--labels", "-l", metavar="COLS", help="Labels: a,b or emo_* or x1:x9.")]
LabelKind = Annotated[
    str, typer.Option("--kind", metavar="KIND", show_default=False, help="votes (counts); mixed (0/1, degrees).")
]
Separator = Annotated[str | None, typer.Option(metavar="CHAR", help="Between labels of one column of lists.")]
Features = Annotated[str | None, typer.Option(metavar="COLS", help="Features, likewise; default: the rest.")]
Categorical = Annotated[str | None, typer.Option(metavar="COLS", help="Features that are codes, not numbers.")]
Numeric = Annotated[str | None, typer.Option(metavar="COLS", help="Features that are numbers, junk or not.")]
Date = Annotated[str | None, typer.Option(metavar="COLS", help="Features that are dates.")]
WordsOnly = Annotated[str | None, typer.Option("--text", metavar="COLS", help="Prose: words count.")]
Text = Annotated[str | None, typer.Option(metavar="COLS", help="Prose: words count, or --embedding NAME.")]
# Hidden, because a screen has so many lines: --text mentions it, and so does a model that needs one.
Embedding = Annotated[str | None, typer.Option(metavar="NAME", hidden=True)]
Ignore = Annotated[str | None, typer.Option(metavar="COLS", help="Columns to leave out.")]
KindAsInFit = Annotated[str | None, typer.Option(metavar="COLS", hidden=True)]
Id = Annotated[str | None, typer.Option("--id", metavar="COL", help="A column that names the rows.")]
Method = Annotated[
    str | None,
    typer.Option(metavar="NAME", autocompletion=complete_method, help="Default DLDL; see `ldlearn methods`."),
]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="K=V", help="A parameter; repeatable.")]
From = Annotated[str | None, typer.Option("--from", metavar="FMT", help="Format of a piped DATA; default csv.")]
Delimiter = Annotated[str | None, typer.Option(metavar="CHAR", help="What separates columns; default: found.")]
Decimal = Annotated[str | None, typer.Option(metavar="CHAR", help="Decimal mark, . or ,; default: found.")]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="Encoding of the text; default: found.")]
To = Annotated[str | None, typer.Option("--to", metavar="FMT", help="Format of a piped output.")]
Metrics = Annotated[str | None, typer.Option(metavar="NAMES", help="Metrics, as a,b; or all. Default: the usual.")]
Round = Annotated[int | None, typer.Option("--round", metavar="N", help="Decimals of the degrees; default: all.")]
Interval = Annotated[
    float | None, typer.Option("--interval", metavar="SHARE", help="Add LABEL_low and LABEL_high, which hold SHARE.")
]
Raters = Annotated[float | None, typer.Option("--raters", metavar="N", help="For --interval: raters of a row.")]
FlagFar = Annotated[bool, typer.Option("--flag-far", help="Add a column far: 1 if unlike the rows of the fit.")]
Keep = Annotated[str | None, typer.Option("--keep", metavar="COLS", help="Columns of DATA to write too.")]
SafeCsv = Annotated[bool, typer.Option("--safe-csv", help="Disarm ids that begin like formulas.")]
NoClobber = Annotated[bool, typer.Option("--no-clobber", help="Refuse to replace an existing file.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Processes on this machine; -1 for all cores.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Log = Annotated[bool, typer.Option("--log", help="One line for each cell instead of a progress bar.")]
Scheduler = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Dask does it; DATA: a pattern.")]
Json = Annotated[bool, typer.Option("--json", help="Results as JSON on standard output.")]


@dataclass(frozen=True)
class FeatureOptions:
    """Which columns are features, what they are, and which names the rows: arguments of `ldlearn.models.fit_table`."""

    features: Features = None
    numeric: Numeric = None
    categorical: Categorical = None
    date: Date = None
    text: Text = None
    ignore: Ignore = None
    id: Id = None


@dataclass(frozen=True)
class FeatureOptionsOfEnhance(FeatureOptions):
    """The same where a screen has no lines for all of them."""

    numeric: KindAsInFit = None
    date: KindAsInFit = None
    text: KindAsInFit = None
    ignore: KindAsInFit = None


@dataclass(frozen=True)
class FeatureOptionsWithoutEmbedding(FeatureOptions):
    """The same where --embedding is no option."""

    text: WordsOnly = None


@dataclass(frozen=True)
class StyleOptions(TextStyle):
    """How a text table is written."""

    delimiter: Delimiter = None
    decimal: Decimal = None
    encoding: Encoding = None


@dataclass(frozen=True)
class WritingOptions:
    """How degrees are written: arguments of `ldlearn.models.predict_table`."""

    to: To = None
    round: Round = None
    interval: Interval = None
    raters: Raters = None
    flag_far: FlagFar = False
    keep: Keep = None
    safe_csv: SafeCsv = False


_WORDS = {"none": None, "null": None, "true": True, "false": False}


def split_names(names: str | None) -> list[str] | None:
    """Names joined by commas."""
    return None if names is None else [name.strip() for name in names.split(",")]


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """The parameters given by ``--set name=value``."""
    return dict(_parse_setting(setting) for setting in settings)


def name_embedding(name: str | None, model: str) -> None:
    """Import the embedding for a model, which must have been fitted with one: it would be ignored otherwise."""
    if name is None:
        return
    from ldlearn.models import load_table_model
    from ldlearn.preprocessing import import_embedding

    import_embedding(name)
    if not load_table_model(model).preprocessing.embedded:
        raise typer.BadParameter(f"{model} was fitted without an embedding; leave it out.", param_hint="--embedding")


def _parse_setting(setting: str) -> tuple[str, Any]:
    name, equals, text = setting.partition("=")
    if not equals or not name.strip():
        raise typer.BadParameter(f"{setting!r} is not of the form name=value.", param_hint="--set")
    return name.strip(), _parse_value(text.strip())


def _parse_value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
    return value if isinstance(value, int | float | str | tuple | list) else text
