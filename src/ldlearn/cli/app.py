"""The typer application that every command file adds its commands to.

A command file holds functions decorated with ``@app.command()``. Errors a user can meet are raised as `ValueError`,
`OSError` or `ImportError` with one clear sentence (`DatasetError` is a `ValueError`), or as `UserError` where none of
these fits: `ldlearn.cli.main.main` prints the sentence and exits with 1. Wrong options are ``typer.BadParameter``: exit
code 2.
"""

from __future__ import annotations

from typing import Annotated

import typer


class UserError(Exception):
    """Something the user can put right; its message is the one sentence that is shown."""


app = typer.Typer(
    name="ldlearn",
    help="Learn label distributions from 0/1 labels, and compare the methods that do.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from ldlearn import __version__

        typer.echo(f"ldlearn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error; allowed anywhere.")] = False,
) -> None:
    pass
