"""Options that several commands share, so that they have the same name, meaning and help
everywhere.

A dataclass is a group of options: a command with a parameter of that type has an option for each of
its fields, and gets their values as one object (see `ldlearn.cli.app.load_command`).
"""

import ast
import math
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Argument, BadParameter, Option

from ldlearn.base.discovery import all_estimators
from ldlearn.cli import console
from ldlearn.tables import import_embedding, load_table_model
from ldlearn.tables.files import Dialect


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
        value = ast.literal_eval(
            {"null": "None"}.get(text.lower(), text.title() if text.isalpha() else text)
        )
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        # literal_eval raises any of these, the last two for deeply nested brackets.
        return name, text
    # Text that looks like a dict, a set or bytes stays text: no parameter takes one.
    return name, value if isinstance(value, int | float | str | tuple | list | None) else text


def parse_blank(text: str) -> float:
    """The value of empty label cells."""
    values = {"0": 0, "nan": math.nan}
    if text not in values:
        raise BadParameter(f"{text!r} is neither 0 nor nan (unknown).", param_hint="--blank")
    return values[text]


Data = Annotated[
    str, Argument(metavar="DATA", help="Table: .csv .xlsx .parquet ...; - for standard input.")
]
Output = Annotated[
    str,
    Option("--output", "-o", metavar="FILE", show_default=False, help="Default: standard output."),
]
Labels = Annotated[
    str, Option("--labels", "-l", metavar="COLS", help="Labels: a,b or emo_* or x1:x9 or l.npy.")
]
LabelKind = Annotated[
    str, Option("--kind", metavar="KIND", show_default=False, help="votes; mixed (0/1, degrees).")
]
Blank = Annotated[
    float | None,
    Option(
        metavar="0|nan", parser=parse_blank, help="Empty label cells are 0, or unknown (default)."
    ),
]
Separator = Annotated[
    str | None, Option(metavar="CHAR", help="Separates the labels in a single column of lists.")
]
Embedding = Annotated[
    str | None, Option(metavar="NAME", help="Embedding of text columns, as module:function.")
]
TrustedMethod = Annotated[
    str | None, Option("--method", metavar="NAME", help="Method outside ldlearn, for MODEL.")
]
Id = Annotated[str | None, Option("--id", metavar="COL", help="Identifier column.")]
Groups = Annotated[
    str | None,
    Option("--groups", metavar="COL", help="Column of groups that are split as a whole."),
]
Method = Annotated[
    str | None,
    Option(
        metavar="NAME", autocompletion=complete_method, help="Default DLDL; see `ldlearn methods`."
    ),
]
Settings = Annotated[
    list[Any] | None,
    Option("--set", metavar="K=V", parser=parse_setting, help="A parameter; repeatable."),
]
To = Annotated[str | None, Option("--to", metavar="FMT", help="Format of standard output.")]
Metrics = Annotated[
    str | None, Option(metavar="NAMES", help="Metrics, as a,b; or all. Default: the most common.")
]
Raw = Annotated[bool, Option("--raw", help="Do not escape formulas and control characters.")]
NoClobber = Annotated[bool, Option("--no-clobber", help="Do not overwrite an existing file.")]
Jobs = Annotated[int, Option("--jobs", "-j", help="Number of processes; -1 for all cores.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print only errors.")]
Log = Annotated[bool, Option("--log", help="One line for each cell instead of a progress bar.")]
Scheduler = Annotated[
    str | None, Option(metavar="ADDRESS", help="Use Dask; DATA is then a pattern of files.")
]
Json = Annotated[bool, Option("--json", help="Results as JSON on standard output.")]


@dataclass(frozen=True)
class FeatureOptions:
    """Feature columns, their types, and the identifier: arguments of `ldlearn.tables.fit_table`."""

    features: Annotated[
        str | None, Option(metavar="COLS", help="Features; default: all other columns.")
    ] = None
    numeric: Annotated[
        str | None, Option(metavar="COLS", help="Numeric features; malformed cells are missing.")
    ] = None
    categorical: Annotated[str | None, Option(metavar="COLS", help="Categorical features.")] = None
    datetime: Annotated[str | None, Option(metavar="COLS", help="Datetime features.")] = None
    text: Annotated[
        str | None, Option(metavar="COLS", help="Text features: TF-IDF, or an embedding.")
    ] = None
    ignore: Annotated[str | None, Option(metavar="COLS", help="Columns to leave out.")] = None
    id: Id = None
    groups: Groups = None


@dataclass(frozen=True)
class LabelOptions:
    """The meaning of 0 and of empty cells: arguments of `ldlearn.tables.fit_table`."""

    zeros: Annotated[
        str | None,
        Option(metavar="none|less", help="0 means none (default), or less: not a main label."),
    ] = None
    empty_rows: Annotated[
        str,
        Option(
            metavar="HOW",
            show_default=False,
            help="Rows of 0 only: error (default), drop, unknown.",
        ),
    ] = "error"
    blank: Blank = None


@dataclass(frozen=True)
class DialectOptions:
    """Format of a text table."""

    delimiter: Annotated[
        str | None, Option(metavar="CHAR", help="Column separator; default: detected.")
    ] = None
    decimal: Annotated[
        str | None, Option(metavar="CHAR", help="Decimal mark, . or ,; default: detected.")
    ] = None
    encoding: Annotated[
        str | None, Option(metavar="NAME", help="Text encoding; default: detected.")
    ] = None


@dataclass(frozen=True)
class ReadingOptions(DialectOptions):
    """How a table is read."""

    format: Annotated[
        str | None, Option("--from", metavar="FMT", help="Format of standard input; default csv.")
    ] = None

    def arguments(self, output: str = "") -> dict[str, Any]:
        """Arguments of functions of `ldlearn.tables`; no progress bar is drawn between rows that
        are printed."""
        dialect = Dialect(self.delimiter, self.decimal, self.encoding)
        progress = console.progress_unless_printed(output)
        return {
            "format": self.format,
            "dialect": dialect,
            "on_message": console.log,
            "progress": progress,
        }


@dataclass(frozen=True, kw_only=True)
class ModelOptions(ReadingOptions):
    """A model, and how the table that it is applied to is read."""

    model: Annotated[str, Option("--model", "-m", metavar="FILE", help="Model file (.ldl).")]
    embedding: Embedding = None
    method: TrustedMethod = None

    def arguments(self, output: str = "") -> dict[str, Any]:
        """The model too; imports the code outside of it that the user names."""
        import_trusted_code(self.model, self.embedding, self.method)
        return super().arguments(output) | {"model": self.model}


@dataclass(frozen=True, kw_only=True)
class RowOptions(ModelOptions):
    """A model, and the rows of a table that it is applied to."""

    id: Id = None
    keep: Annotated[
        str | None, Option(metavar="COLS", help="Columns to write; default: texts.")
    ] = None
    kind: LabelKind = "auto"
    blank: Blank = None
    no_clobber: NoClobber = False

    def arguments(self, output: str = "") -> dict[str, Any]:
        """Which columns are shown, and how labels are read, too."""
        shown = {"id": self.id, "keep": self.keep, "overwrite": not self.no_clobber}
        return super().arguments(output) | shown | {"kind": self.kind, "blank": self.blank}


@dataclass(frozen=True)
class WritingOptions:
    """How degrees are written: arguments of `ldlearn.tables.predict_table`."""

    to: To = None
    round: Annotated[
        int | None, Option(metavar="N", help="Decimals of the degrees; default: all.")
    ] = None
    interval: Annotated[
        float | None,
        Option(metavar="LEVEL", help="Add LABEL_low, LABEL_high: intervals of this nominal level."),
    ] = None
    raters: Annotated[
        float | None, Option(metavar="N", help="For --interval: number of raters of a row.")
    ] = None
    flag_far: Annotated[
        bool, Option("--flag-far", help="Add a column far: 1 if the row is far from training.")
    ] = False
    keep: Annotated[str | None, Option(metavar="COLS", help="Columns of DATA to write too.")] = None
    raw: Raw = False
    no_clobber: NoClobber = False

    def arguments(self) -> dict[str, Any]:
        """Arguments of functions of `ldlearn.tables`."""
        given = dict(vars(self))
        return given | {"overwrite": not given.pop("no_clobber")}


def split_names(names: str | None) -> list[str] | None:
    """Split names at commas."""
    return None if names is None else [name.strip() for name in names.split(",")]


def import_trusted_code(model: str, embedding: str | None, method: str | None) -> None:
    """Import the code that a model needs and the user names; an error if the model does without."""
    if embedding is not None:
        import_embedding(embedding)
    elif method is None:
        return
    if not load_table_model(model, method).preprocessing.embedded and embedding is not None:
        raise BadParameter(
            f"{model} was fitted without an embedding; leave it out.", param_hint="--embedding"
        )
