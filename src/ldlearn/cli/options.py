"""Options that several commands share, so that they mean and say the same everywhere.

A dataclass is a group of options: a command with a parameter of that type has an option for each of its fields, and is
given their values as one object (see `ldlearn.cli.app.load_command`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Argument, BadParameter, Option

from ldlearn.base.discovery import all_estimators
from ldlearn.tables.text_style import TextStyle

_WORDS = {"none": "None", "null": "None", "true": "True", "false": "False"}  # as people and JSON write them


def complete_method(incomplete: str) -> Iterable[str]:
    """Names of methods that begin so, for the completion of the shell."""
    return [name for name, _ in all_estimators() if name.lower().startswith(incomplete.lower())]


def parse_setting(setting: str) -> tuple[str, Any]:
    """The name and the value of a parameter that is given as ``name=value``."""
    name, equals, text = setting.partition("=")
    if not equals or not name.strip():
        raise BadParameter(f"{setting!r} is not of the form name=value.", param_hint="--set")
    return name.strip(), _parse_value(text.strip())


def _parse_value(text: str) -> Any:
    try:
        value = ast.literal_eval(_WORDS.get(text.lower(), text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        # literal_eval can raise all of these, the last two for brackets nested deeply.
        return text
    # What reads like a dict, a set or bytes is meant as text: parameters are none of these.
    return value if isinstance(value, int | float | str | tuple | list | None) else text


Data = Annotated[str, Argument(metavar="DATA", help="Table: .csv .xlsx .parquet ...; - a pipe.")]
Model = Annotated[str, Option("--model", "-m", metavar="FILE", help="The model, an .ldl file.")]
Output = Annotated[
    str, Option("--output", "-o", metavar="FILE", show_default=False, help="Table to write; default: a pipe.")
]
Labels = Annotated[str, Option("--labels", "-l", metavar="COLS", help="Labels: a,b or emo_* or x1:x9.")]
LabelKind = Annotated[
    str, Option("--kind", metavar="KIND", show_default=False, help="votes (counts); mixed (0/1, degrees).")
]
Separator = Annotated[str | None, Option(metavar="CHAR", help="Between labels of one column of lists.")]
# Hidden, because a screen has so many lines: --text mentions it, and so does a model that needs one.
Embedding = Annotated[str | None, Option(metavar="NAME", hidden=True)]
KindAsInFit = Annotated[str | None, Option(metavar="COLS", hidden=True)]
Id = Annotated[str | None, Option("--id", metavar="COL", help="A column that names the rows.")]
Method = Annotated[
    str | None, Option(metavar="NAME", autocompletion=complete_method, help="Default DLDL; see `ldlearn methods`.")
]
Settings = Annotated[
    list[Any] | None, Option("--set", metavar="K=V", parser=parse_setting, help="A parameter; repeatable.")
]
From = Annotated[str | None, Option("--from", metavar="FMT", help="Format of a piped DATA; default csv.")]
To = Annotated[str | None, Option("--to", metavar="FMT", help="Format of a piped output.")]
Metrics = Annotated[str | None, Option(metavar="NAMES", help="Metrics, as a,b; or all. Default: the usual.")]
NoClobber = Annotated[bool, Option("--no-clobber", help="Refuse to replace an existing file.")]
Jobs = Annotated[int, Option("--jobs", "-j", help="Processes on this machine; -1 for all cores.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Say nothing but errors.")]
Log = Annotated[bool, Option("--log", help="One line for each cell instead of a progress bar.")]
Scheduler = Annotated[str | None, Option(metavar="ADDRESS", help="Dask does it; DATA: a pattern.")]
Json = Annotated[bool, Option("--json", help="Results as JSON on standard output.")]


@dataclass(frozen=True)
class FeatureOptions:
    """Which columns are features, what they are, and which names the rows: arguments of `ldlearn.tables.fit_table`."""

    features: Annotated[str | None, Option(metavar="COLS", help="Features, likewise; default: the rest.")] = None
    numeric: Annotated[str | None, Option(metavar="COLS", help="Features that are numbers, junk or not.")] = None
    categorical: Annotated[str | None, Option(metavar="COLS", help="Features that are codes, not numbers.")] = None
    date: Annotated[str | None, Option(metavar="COLS", help="Features that are dates.")] = None
    text: Annotated[str | None, Option(metavar="COLS", help="Prose: words count, or --embedding NAME.")] = None
    ignore: Annotated[str | None, Option(metavar="COLS", help="Columns to leave out.")] = None
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

    text: Annotated[str | None, Option(metavar="COLS", help="Prose: words count.")] = None


@dataclass(frozen=True)
class StyleOptions(TextStyle):
    """How a text table is written."""

    delimiter: Annotated[str | None, Option(metavar="CHAR", help="What separates columns; default: found.")] = None
    decimal: Annotated[str | None, Option(metavar="CHAR", help="Decimal mark, . or ,; default: found.")] = None
    encoding: Annotated[str | None, Option(metavar="NAME", help="Encoding of the text; default: found.")] = None


@dataclass(frozen=True)
class WritingOptions:
    """How degrees are written: arguments of `ldlearn.tables.predict_table`."""

    to: To = None
    round: Annotated[int | None, Option(metavar="N", help="Decimals of the degrees; default: all.")] = None
    interval: Annotated[
        float | None, Option(metavar="SHARE", help="Add LABEL_low and LABEL_high, which hold SHARE.")
    ] = None
    raters: Annotated[float | None, Option(metavar="N", help="For --interval: raters of a row.")] = None
    flag_far: Annotated[bool, Option("--flag-far", help="Add a column far: 1 if unlike the rows of the fit.")] = False
    keep: Annotated[str | None, Option(metavar="COLS", help="Columns of DATA to write too.")] = None
    safe_csv: Annotated[bool, Option("--safe-csv", help="Disarm ids that begin like formulas.")] = False


def split_names(names: str | None) -> list[str] | None:
    """Names joined by commas."""
    return None if names is None else [name.strip() for name in names.split(",")]


def name_embedding(name: str | None, model: str) -> None:
    """Import the embedding for a model, which must have been fitted with one: it would be ignored otherwise."""
    if name is None:
        return
    # Imported here, because commands that need no models share these options.
    from ldlearn.tables import import_embedding, load_table_model

    import_embedding(name)
    if not load_table_model(model).preprocessing.embedded:
        raise BadParameter(f"{model} was fitted without an embedding; leave it out.", param_hint="--embedding")
