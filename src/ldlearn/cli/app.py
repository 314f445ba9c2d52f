"""The application behind `ldlearn`: options for all commands, and a group that loads a command when it is needed."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from inspect import Parameter, Signature, signature
from keyword import iskeyword
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from ldlearn import __version__
from ldlearn.cli import commands
from ldlearn.cli.interrupts import EXIT_CODE, MESSAGE, interrupt, quit_now
from ldlearn.cli.main import READER_LEFT

_SETTINGS = {"help_option_names": ["-h", "--help"]}


class LazyGroup(TyperGroup):
    """Knows its commands by the lines of `ldlearn.cli.commands`; running one imports its file."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of the lines."""
        return [line.name for line in commands.COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """What the help page and the completion of the shell need of a command; it cannot be run."""
        line = find_command(cmd_name)
        # Without its options, for which its file would have to be imported: a help page waits for nothing.
        return line and TyperCommand(line.name, help=line.help, short_help=line.help, rich_help_panel=line.panel)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; Ctrl-C ends it with one line, and a reader of its results who has enough without a word."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo(f"ldlearn: {MESSAGE}", err=True)
            raise typer.Exit(EXIT_CODE) from None
        except BrokenPipeError:
            # Here, where it is still known: typer would end the command with exit code 1.
            raise typer.Exit(READER_LEFT) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command itself."""
        name, found, rest = super().resolve_command(ctx, args)
        if found is not None:
            found = load_command(find_command(found.name))
            # Only a handler of ours is replaced: a program that calls main keeps its own.
            if signal.getsignal(signal.SIGINT) is quit_now:  # imports are over
                signal.signal(signal.SIGINT, interrupt)
        return name, found, rest


def find_command(name: str | None) -> Any:
    """The line of a command, or None if there is none of this name."""
    return next((line for line in commands.COMMANDS if line.name == name), None)


@cache  # typer looks at every option of a command for a while
def load_command(line: commands.Command) -> Any:
    """Import the file of a command, and make the command from its function or group."""
    name = line.name.replace("-", "_") + ("_" if iskeyword(line.name) else "")
    found = getattr(import_module(f"ldlearn.cli.{name}"), name)
    if not isinstance(found, typer.Typer):
        function, found = found, typer.Typer(add_completion=False)
        found.command(line.name, context_settings=_SETTINGS)(_ungrouped(function))
    made = typer.main.get_command(found)
    # usage and errors name the command as typed, not the function
    made.name = line.name
    return made


def _ungrouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command as typer takes it: instead of a parameter that is a dataclass, one for each of its fields."""
    kinds = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
    parameters = list(_flat_parameters(command))

    def run(**given: Any) -> None:
        for name, group in groups.items():
            # the command itself takes the groups again, as a function that Python can call
            given[name] = group(**{field: given.pop(field) for field in signature(group).parameters})
        command(**given)

    # typer reads the signature for names and defaults, and the annotations for types
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = command.__doc__
    return run


def _flat_parameters(made_with: Any) -> Iterator[Parameter]:
    """The parameters of a function or dataclass, with those of the dataclasses among them in their places."""
    kinds = get_type_hints(made_with, include_extras=True)
    for name, parameter in signature(made_with).parameters.items():
        if is_dataclass(kinds[name]):
            yield from _flat_parameters(kinds[name])
        else:
            yield parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kinds[name])


app = typer.Typer(
    name="ldlearn",
    cls=LazyGroup,
    help="Learn label distributions from 0/1 labels, and compare the methods that do.",
    no_args_is_help=True,
    context_settings=_SETTINGS,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ldlearn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    # Only for the help page: main has taken the word out before.
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error; allowed anywhere.")] = False,
) -> None:
    pass


# Not the application itself, which would be made anew for every call, and bring its own tracebacks.
command_line = typer.main.get_command(app)
