"""Options that several commands share, so that they have the same name, meaning and help everywhere.

A dataclass is a group of options: a command with a parameter of that type has an option for each of its fields, and
gets their values as one object (see `ldlearn.cli.app.load_command`).
"""

import ast
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Argument, BadParameter, Option

from ldlearn.base.discovery import all_estimators
from ldlearn.tables.delimited_dialect import Dialect


def complete_method(incomplete: str) -> list[str]:
    """Names of methods with this prefix, for shell completion."""
    return [name for name, _ in all_estimators() if name.lower().startswith(incomplete.lower())]


def parse_setting(setting: str) -> tuple[str, Any]:
    """Name and value of a parameter given as ``name=value``."""
    name, equals, text = (part.strip() for part in setting.partition("="))
    if not equals or not name:
        raise BadParameter(f"{setting!r} is not of the form name=value.", param_hint="--set")
    try:
        # none, null, true and false as JSON and people write them
        value = ast.literal_eval({"null": "None"}.get(text.lower(), text.title() if text.isalpha() else text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        # literal_eval raises any of these, the last two for deeply nested brackets.
        return name, text
    # Text that looks like a dict, a set or bytes stays text: no parameter takes one.
    return name, value if isinstance(value, int | float | str | tuple | list | None) else text


Data = Annotated[str, Argument(metavar="DATA", help="Table: .csv .xlsx .parquet ...; - for standard input.")]
Model = Annotated[str, Option("--model", "-m", metavar="FILE", help="Model file (.ldl).")]
Output = Annotated[
    str, Option("--output", "-o", metavar="FILE", show_default=False, help="Table to write; default: standard output.")
]
Labels = Annotated[str, Option("--labels", "-l", metavar="COLS", help="Labels: a,b or emo_* or x1:x9 or l.npy.")]
LabelKind = Annotated[
    str, Option("--kind", metavar="KIND", show_default=False, help="votes (counts); mixed (0/1, degrees).")
]
Blank = Annotated[int | None, Option(metavar="0", min=0, max=0, help="Empty label cells are 0; default: unknown.")]
Separator = Annotated[str | None, Option(metavar="CHAR", help="Separates the labels in a single column of lists.")]
Embedding = Annotated[str | None, Option(metavar="NAME", help="Embedding of text columns, as module:function.")]
Id = Annotated[str | None, Option("--id", metavar="COL", help="Identifier column.")]
Method = Annotated[
    str | None, Option(metavar="NAME", autocompletion=complete_method, help="Default DLDL; see `ldlearn methods`.")
]
Settings = Annotated[
    list[Any] | None, Option("--set", metavar="K=V", parser=parse_setting, help="A parameter; repeatable.")
]
From = Annotated[str | None, Option("--from", metavar="FMT", help="Format of standard input; default csv.")]
To = Annotated[str | None, Option("--to", metavar="FMT", help="Format of standard output.")]
Metrics = Annotated[str | None, Option(metavar="NAMES", help="Metrics, as a,b; or all. Default: the most common.")]
NoClobber = Annotated[bool, Option("--no-clobber", help="Do not overwrite an existing file.")]
Jobs = Annotated[int, Option("--jobs", "-j", help="Number of processes; -1 for all cores.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print only errors.")]
Log = Annotated[bool, Option("--log", help="One line for each cell instead of a progress bar.")]
Scheduler = Annotated[str | None, Option(metavar="ADDRESS", help="Use Dask; DATA is then a pattern of files.")]
Json = Annotated[bool, Option("--json", help="Results as JSON on standard output.")]


@dataclass(frozen=True)
class FeatureOptions:
    """Feature columns, their types, and the identifier: arguments of `ldlearn.tables.fit_table`."""

    features: Annotated[str | None, Option(metavar="COLS", help="Features; default: all other columns.")] = None
    numeric: Annotated[str | None, Option(metavar="COLS", help="Numeric features; malformed cells are missing.")] = None
    categorical: Annotated[str | None, Option(metavar="COLS", help="Categorical features.")] = None
    date: Annotated[str | None, Option(metavar="COLS", help="Datetime features.")] = None
    text: Annotated[str | None, Option(metavar="COLS", help="Text features: TF-IDF, or an embedding.")] = None
    ignore: Annotated[str | None, Option(metavar="COLS", help="Columns to leave out.")] = None
    id: Id = None


@dataclass(frozen=True)
class LabelOptions:
    """The meaning of 0 and of empty cells: arguments of `ldlearn.tables.fit_table`."""

    zeros: Annotated[
        str | None, Option(metavar="none|less", help="0 means none (default), or less: not a main label.")
    ] = None
    empty_rows: Annotated[
        str, Option(metavar="HOW", show_default=False, help="Rows of 0 only: error (default), drop, unknown.")
    ] = "error"
    blank: Blank = None


@dataclass(frozen=True)
class DialectOptions(Dialect):
    """Format of a text table."""

    delimiter: Annotated[str | None, Option(metavar="CHAR", help="Column separator; default: detected.")] = None
    decimal: Annotated[str | None, Option(metavar="CHAR", help="Decimal mark, . or ,; default: detected.")] = None
    encoding: Annotated[str | None, Option(metavar="NAME", help="Text encoding; default: detected.")] = None


@dataclass(frozen=True)
class WritingOptions:
    """How degrees are written: arguments of `ldlearn.tables.predict_table`."""

    to: To = None
    round: Annotated[int | None, Option(metavar="N", help="Decimals of the degrees; default: all.")] = None
    interval: Annotated[
        float | None, Option(metavar="LEVEL", help="Add LABEL_low, LABEL_high: intervals of this nominal level.")
    ] = None
    raters: Annotated[float | None, Option(metavar="N", help="For --interval: number of raters of a row.")] = None
    flag_far: Annotated[bool, Option("--flag-far", help="Add a column far: 1 if the row is far from training.")] = False
    keep: Annotated[str | None, Option(metavar="COLS", help="Columns of DATA to write too.")] = None
    safe_csv: Annotated[bool, Option("--safe-csv", help="Escape names and texts that begin like formulas.")] = False


def split_names(names: str | None) -> list[str] | None:
    """Split names at commas."""
    return None if names is None else [name.strip() for name in names.split(",")]


def load_embedding(name: str | None, model: str) -> None:
    """Import the embedding of a model; an error if the model was fitted without one and would ignore it."""
    if name is None:
        return
    # Imported here, because commands without models share these options.
    from ldlearn.tables import import_embedding, load_table_model

    import_embedding(name)
    if not load_table_model(model).preprocessing.embedded:
        raise BadParameter(f"{model} was fitted without an embedding; leave it out.", param_hint="--embedding")
