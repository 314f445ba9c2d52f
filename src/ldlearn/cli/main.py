"""The entry point of `ldlearn`: one-sentence errors and exit codes."""

import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, TextIO

_INTERRUPTED = 130  # 128 + SIGINT, as shells count


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; always ends in `SystemExit`.

    Exit codes: 0 success (also if the reader of standard output closes it early, as `head` does), 2
    an error that the user can correct (one sentence on standard error), 1 a bug of ldlearn, 130
    interrupted.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process, which then ends immediately on Ctrl-C while it is still
        importing modules.
    """
    if arguments is None:
        signal.signal(signal.SIGINT, quit_immediately)
        arguments = sys.argv[1:]
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the caller has closed it
            setattr(sys, name, io.TextIOWrapper(io.BytesIO()))
    debug = "--debug" in arguments or os.environ.get("LDLEARN_DEBUG")
    try:
        # Accepted anywhere, while typer accepts the options of all commands only before the
        # command.
        _run([argument for argument in arguments if argument != "--debug"])
        code = 0
    except BaseException as error:
        message, code = _message_and_exit_code(error)
        if debug and message and code != _INTERRUPTED:
            raise
        if message:
            with ignore_closed_pipe(sys.stderr):
                print(f"ldlearn: {message}", file=sys.stderr, flush=True)
    raise SystemExit(code)


def quit_immediately(number: int, frame: object) -> None:
    """Handle Ctrl-C during imports: end the process.

    There is nothing to clean up yet, and a module that is being imported could replace or ignore an
    exception.
    """
    # Not print: a handler may run in the middle of another write to the same buffer, which Python
    # refuses.
    os.write(2, b"ldlearn: interrupted.\n")
    os._exit(_INTERRUPTED)


@contextmanager
def ignore_closed_pipe(stream: TextIO) -> Iterator[None]:
    """Write to a stream; if its reader has closed it, discard this and everything that follows."""
    try:
        yield
    except BrokenPipeError:
        devnull = os.open(os.devnull, os.O_WRONLY)
        # The descriptor itself, otherwise the last flush of the interpreter would fail again.
        os.dup2(devnull, stream.fileno())
        os.close(devnull)


def _run(arguments: list[str]) -> None:
    """Call the typer application; it is imported here, where errors and Ctrl-C are handled."""
    from ldlearn._optional_imports import import_optional

    import_optional("typer", "cli", "Commands")
    from ldlearn.cli.app import command_line

    try:
        command_line(args=arguments, prog_name="ldlearn")
    finally:
        # A failure at the end of the process would be an error.
        with ignore_closed_pipe(sys.stdout):
            print(end="", flush=True)


def _message_and_exit_code(error: BaseException) -> tuple[str, int]:
    """A message, empty if it was printed already, and the exit code."""
    # typer and compiled code may raise another exception instead of these two, which then are its
    # cause or context.
    causes = {}
    cause: BaseException | None = error
    while cause is not None:
        causes[type(cause)] = cause
        cause = cause.__cause__ or cause.__context__
    if KeyboardInterrupt in causes:
        return str(causes[KeyboardInterrupt]) or "interrupted.", _INTERRUPTED
    if isinstance(error, BrokenPipeError | SystemExit) and BrokenPipeError in causes:
        return "", 0
    if isinstance(error, SystemExit):
        if isinstance(error.code, str):
            return error.code, 1
        return "", error.code or 0
    from ldlearn._messages import escape_control_chars
    from ldlearn.exceptions import LDLearnError

    text = escape_control_chars(" ".join(str(error).split())) or type(error).__name__
    if isinstance(error, LDLearnError):
        return text, 2
    if isinstance(error, OSError) and error.strerror:
        # Errors of files name the file; only standard output has no name.
        return f"{error.filename or 'standard output'}: {error.strerror}.", 2
    if isinstance(error, MemoryError):
        remedy = "use fewer rows or columns, or a larger machine"
        return f"the memory of this machine does not suffice; {remedy}.", 2
    return (
        f"this is a bug of ldlearn ({type(error).__name__}: {text}); please report it with "
        "`ldlearn --version` and the output of the same command with --debug."
    ), 1
