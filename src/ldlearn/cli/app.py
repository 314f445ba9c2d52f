"""The typer application: the list of commands, and the options of all commands.

A command is a function of the same name (an underscore replaces a hyphen and follows a Python
keyword), or a `typer.Typer` of that name if the command has subcommands. Its file is imported only
when one of its commands is run or its help is shown, so it may import at its top whatever it needs.
"""

import signal
from functools import cache
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from ldlearn import __version__
from ldlearn.cli.main import quit_immediately
from ldlearn.cli.option_groups import expand_groups

OWN_TABLES = "Your own tables"
STUDY = "Methods, data sets and experiments"
_SETTINGS = {"help_option_names": ["-h", "--help"]}


class CommandEntry(NamedTuple):
    """An entry of the help page.

    It has a name, a file, the first line of the function's docstring, and a heading of the page.
    """

    name: str
    file: str
    help: str
    panel: str = OWN_TABLES


COMMANDS = (
    CommandEntry(
        "fit",
        "tables",
        "Fit a model on a table with 0/1 labels or votes, and score it on held-out rows.",
    ),
    CommandEntry(
        "enhance",
        "tables",
        "Turn 0/1 labels or votes of rows into degrees: by a fitted model, or by a method.",
    ),
    CommandEntry("predict", "tables", "Predict the degrees of new rows, in constant memory."),
    CommandEntry(
        "evaluate",
        "tables",
        "Score a model against true degrees, 0/1 labels or votes; compare with baselines.",
    ),
    CommandEntry(
        "browse",
        "rows",
        "Write a page to browse rows: texts, labels, degrees; search, sort, select, export.",
    ),
    CommandEntry(
        "explain",
        "rows",
        "Explain one prediction: contributions of words and columns to each label.",
    ),
    CommandEntry("ask", "rows", "Choose rows to annotate next, and flag labels that look wrong."),
    CommandEntry(
        "suggest",
        "rows",
        "Write degrees as suggestions (Argilla, Label Studio) or soft labels (Hugging Face).",
    ),
    CommandEntry(
        "inspect", "tables", "Show the training data, parameters, scores and warnings of a model."
    ),
    CommandEntry("export", "tables", "Write a model as ONNX, its preprocessing included."),
    CommandEntry(
        "compare", "tables", "Compare two files of distributions row by row: mean of every metric."
    ),
    CommandEntry(
        "import",
        "tables",
        "Make a table of annotations: Label Studio, Argilla, doccano, Prodigy, or long format.",
    ),
    CommandEntry(
        "compare-methods",
        "runs",
        "Compare several methods on a table: held-out scores, and how much they differ.",
    ),
    CommandEntry(
        "demo", "demo", "Run all steps on real data: texts of tweets, rated by 20 to 99 people."
    ),
    CommandEntry("methods", "library", "List the methods: name, kind, origin, summary.", STUDY),
    CommandEntry("cite", "library", "Print BibTeX entries of the papers of methods.", STUDY),
    CommandEntry(
        "datasets", "library", "List the available data sets, and where they are stored.", STUDY
    ),
    CommandEntry(
        "run", "runs", "Run an experiment; records are written to OUTPUT/records.jsonl.", STUDY
    ),
    CommandEntry(
        "import-predictions",
        "runs",
        "Add predictions made elsewhere to a run, to be ranked and reported.",
        STUDY,
    ),
    CommandEntry(
        "report",
        "runs",
        "Write the report of a run: one HTML page, tables in Markdown and LaTeX, figures.",
        STUDY,
    ),
)


class _LazyGroup(TyperGroup):
    """A group that lists `COMMANDS` and imports a command when it is run."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the help page."""
        return [command.name for command in COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command without its options, for the help page and shell completion.

        It needs no imports.
        """
        for name, _, help, panel in COMMANDS:
            if name == cmd_name:
                return TyperCommand(name, help=help, short_help=help, rich_help_panel=panel)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command itself."""
        name, found, rest = super().resolve_command(ctx, args)
        if found is not None:
            found = load_command(found.name)
            # Imports are over. A program that calls main keeps its own handler.
            if signal.getsignal(signal.SIGINT) is quit_immediately:
                signal.signal(signal.SIGINT, signal.default_int_handler)
        return name, found, rest


def find_command(name: str) -> Any:
    """The function or the group of a command, from its file."""
    file = next(command.file for command in COMMANDS if command.name == name)
    function = name.replace("-", "_") + "_" * iskeyword(name)
    return getattr(import_module(f"ldlearn.cli.{file}"), function)


@cache  # typer inspects every option of a command, which takes a while
def load_command(name: str) -> Any:
    """Import the file of a command, and make the command from its function or group."""
    group = function = find_command(name)
    if not isinstance(group, typer.Typer):
        group = typer.Typer(add_completion=False)
        group.command(name, context_settings=_SETTINGS)(expand_groups(function))
    command = typer.main.get_command(group)
    # Usage and errors show the command as typed, not the function.
    command.name = name
    return command


app = typer.Typer(
    name="ldlearn",
    cls=_LazyGroup,
    help="Learn label distributions from 0/1 labels, and compare the methods that do.",
    no_args_is_help=True,
    context_settings=_SETTINGS,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ldlearn {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    # Only for the help page: main removes this option.
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; accepted anywhere.")
    ] = False,
) -> None:
    pass


# Not the application itself, which would be built again for every call and installs its own
# tracebacks.
command_line = typer.main.get_command(app)
