"""The entry point of `ldlearn`: errors as one sentence, and exit codes."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NoReturn, TextIO

from ldlearn.cli import interrupts

__all__ = ["READER_LEFT", "ignoring_closed_pipe", "main"]

_WRONG_INPUT, _BUG = 2, 1
# How a command ends when the reader of its results has left: known inside the program alone; nothing went wrong.
READER_LEFT = 141  # 128 + SIGPIPE, as shells count


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; always ends in `SystemExit`.

    Exit codes: 0 success (also if the reader of the results leaves early, as `head` does), 2 something the user can put
    right (one sentence on standard error), 1 a fault of ldlearn itself, 130 interrupted.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process, which then also ends at once on Ctrl-C while it still imports modules.
    """
    if arguments is None:
        signal.signal(signal.SIGINT, interrupts.quit_now)
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given or bool(os.environ.get("LDLEARN_DEBUG"))
    try:
        # Allowed anywhere, while typer knows the options of all commands only before the command.
        _run([word for word in given if word != "--debug"])
        code = 0
    except SystemExit as end:
        # a sentence of somebody else's, which Python prints itself
        if not isinstance(end.code, int):
            raise
        code = end.code
    except (Exception, KeyboardInterrupt) as error:
        sentence, code = _explain(error)
        # Ctrl-C is nobody's fault, and its traceback of no use.
        if debug and code != interrupts.EXIT_CODE:
            raise
        with ignoring_closed_pipe(sys.stderr):
            print(f"ldlearn: {sentence}", file=sys.stderr, flush=True)
    told = 0 if code == READER_LEFT else code
    if arguments is None:
        # After a failure, threads may wait for what will never come.
        if code == 0:
            threading._shutdown()  # type: ignore[attr-defined] # as at an ordinary exit: threads end, workers are sent home
        _end_process(told)
    raise SystemExit(told)


@contextmanager
def ignoring_closed_pipe(stream: TextIO) -> Iterator[None]:
    """Write to a stream; if nobody listens any more, this and all that follows goes nowhere."""
    try:
        yield
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        # The descriptor itself, or the last flush of the interpreter would fail again.
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _run(words: list[str]) -> None:
    """Hand over to the application; what it needs is imported here, where errors and Ctrl-C are looked after."""
    try:
        from ldlearn.cli.app import command_line
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        from ldlearn.exceptions import MissingDependencyError, install_advice

        advice = install_advice("typer rich", "cli")
        raise MissingDependencyError(f"The command line needs typer and rich: {advice}.") from None
    try:
        command_line(args=words, prog_name="ldlearn")
    finally:
        with ignoring_closed_pipe(sys.stdout):  # at the end of the process it would be an error
            print(end="", flush=True)


def _end_process(code: int) -> NoReturn:
    """End the process without taking the interpreter apart; what is registered for the exit is done as ever.

    Threads of libraries may be at work. At an ordinary exit Python would wait for them, after a failure perhaps for
    ever, or end them where C++ allows no end: the process would die of SIGABRT instead of saying how it went.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody listens any more, or it is closed
            stream.flush()
    os._exit(code)


def _explain(error: BaseException) -> tuple[str, int]:
    """A sentence and an exit code: our own errors speak for themselves, as the system does; all others are bugs."""
    if interrupts.was_interrupted() or isinstance(error, KeyboardInterrupt):
        return interrupts.MESSAGE, interrupts.EXIT_CODE
    from ldlearn.exceptions import LDLearnError, printable

    text = printable(" ".join(str(error).split())) or type(error).__name__
    if isinstance(error, LDLearnError):
        return text, _WRONG_INPUT
    if isinstance(error, OSError) and error.strerror:
        # files are named by whoever opened them; what has no name is where results are printed
        return f"{error.filename or 'standard output'}: {error.strerror}.", _WRONG_INPUT
    return (
        f"this is a fault of ldlearn, not yours ({type(error).__name__}: {text}); please report it with the command, "
        "the output of `ldlearn --version`, and what the same command shows with --debug.",
        _BUG,
    )
