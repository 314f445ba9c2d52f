"""Options that several commands share, so that they have one name, meaning and help everywhere.

Options of functions on tables are in `ldlearn.tables.options`, in groups; a command with a
parameter of such a type has these options (see `ldlearn.cli.option_groups`).
"""

import ast
import sys
from contextlib import suppress
from dataclasses import MISSING, dataclass, replace
from typing import Annotated, Any

from typer import Argument, BadParameter, Option

from ldlearn.base.discovery import all_estimators
from ldlearn.cli import console
from ldlearn.tables import ReadingOptions, import_embedding, load_table_model
from ldlearn.tables.files import PIPE, no_progress
from ldlearn.tables.options import cli_option


def _complete_method(incomplete: str) -> list[str]:
    """Names of methods with this prefix, for shell completion."""
    return [name for name, _ in all_estimators() if name.lower().startswith(incomplete.lower())]


def _parse_setting(setting: str) -> tuple[str, Any]:
    """Name and value of a parameter given as ``name=value``."""
    name, equals, text = (part.strip() for part in setting.partition("="))
    if not equals or not name:
        raise BadParameter(f"{setting!r} is not of the form name=value.", param_hint="--set")
    # As JSON and people write them.
    words = {"none": None, "null": None, "true": True, "false": False}
    if text.lower() in words:
        return name, words[text.lower()]
    # literal_eval raises any of these, the last two for deeply nested brackets.
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        value = ast.literal_eval(text)
        # Text that looks like a dict, a set or bytes stays text: no parameter takes one.
        if isinstance(value, int | float | str | tuple | list):
            return name, value
    return name, text


Data = Annotated[
    str, Argument(metavar="DATA", help="Table: .csv .xlsx .parquet ...; - for standard input.")
]
OutputTable = Annotated[
    str,
    Option("--output", "-o", metavar="FILE", show_default=False, help="Default: standard output."),
]
_LABEL_COLUMNS = Option(
    "--labels", "-l", metavar="COLS", help="Labels: a,b or emo_* or x1:x9 or l.npy."
)
LabelColumns = Annotated[str, _LABEL_COLUMNS]
OptionalLabelColumns = Annotated[str | None, _LABEL_COLUMNS]
Embedding = Annotated[
    str | None, Option(metavar="NAME", help="Embedding of text columns, as module:function.")
]
TrustedMethod = Annotated[
    str | None, Option("--method", metavar="NAME", help="Method outside ldlearn, for MODEL.")
]
MethodName = Annotated[
    str | None,
    Option(
        metavar="NAME",
        autocompletion=_complete_method,
        help="Default DLDL, for votes CountLDL; see `ldlearn methods`.",
    ),
]
MethodParams = Annotated[
    list[Any] | None,
    Option("--set", metavar="K=V", parser=_parse_setting, help="A parameter; repeatable."),
]
Metrics = Annotated[
    str | None, Option(metavar="NAMES", help="Metrics, as a,b; or all. Default: the most common.")
]
Jobs = Annotated[int, Option("--jobs", "-j", help="Number of processes; -1 for all cores.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print only errors.")]
Log = Annotated[bool, Option("--log", help="One line for each cell instead of a progress bar.")]
Scheduler = Annotated[
    str | None, Option(metavar="ADDRESS", help="Use Dask; DATA is then a pattern of files.")
]
Json = Annotated[bool, Option("--json", help="Results as JSON on standard output.")]


def report_on_console(reading: ReadingOptions, output: str = "") -> ReadingOptions:
    """Print messages, and draw progress unless rows are printed to the same terminal."""
    is_printed = output == PIPE and sys.stdout.isatty()
    progress = no_progress if is_printed else console.progress
    return replace(reading, on_message=console.log, progress=progress)


def check_ending(output: str, what: str, *endings: str) -> None:
    """Refuse an output whose name does not end as such files do, so that no slip loses a table."""
    if not output.endswith(endings):
        raise BadParameter(f"{what} ends in {endings[0]}, {output!r} does not.", param_hint="-o")


def split_names(names: str | None) -> list[str] | None:
    """Split names at commas."""
    return None if names is None else list(map(str.strip, names.split(",")))


@dataclass(frozen=True)
class FittedModel:
    """The file of a model, and the code outside ldlearn that it needs and the user trusts."""

    file: str = cli_option("FILE", "Model file (.ldl).", MISSING, "--model", "-m")
    embedding: str | None = cli_option("NAME", "Embedding of text columns, as module:function.")
    method: str | None = cli_option("NAME", "Method outside ldlearn, for MODEL.")

    def import_code(self) -> str:
        """Import the code and return the file; an error if the model does without."""
        if self.embedding is not None:
            import_embedding(self.embedding)
        if self.embedding is not None or self.method is not None:
            loaded = load_table_model(self.file, self.method)
            if self.embedding is not None and not loaded.preprocessing.embedded:
                raise BadParameter(
                    f"{self.file} was fitted without an embedding; leave it out.",
                    param_hint="--embedding",
                )
        return self.file


@dataclass(frozen=True)
class AnnotationColumns:
    """The columns of a table with one annotation a row, and raters to leave out."""

    item: str | None = cli_option("COL", "Item column; import finds usual names.")
    rater: str | None = cli_option("COL", "Rater column; default: found by name.")
    label: str | None = cli_option("COL", "Label column, 0/1 columns, or question.")
    exclude_raters: str | None = cli_option(
        "NAMES", "Leave out raters: a,b or chance (agreement no better than that)."
    )
