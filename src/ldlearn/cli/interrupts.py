"""What Ctrl-C does to the process of `ldlearn`: one line and exit code 130, at any time."""

from __future__ import annotations

import os
import signal
from types import FrameType

EXIT_CODE = 130
MESSAGE = "ldlearn: interrupted."
_was_interrupted = False


def quit_at_once() -> None:
    """While modules are imported, Ctrl-C ends the process without further ado.

    There is nothing to clean up yet, and an exception that is raised inside an import can be turned into another one,
    or be ignored, by the module that is being imported.
    """
    signal.signal(signal.SIGINT, _quit)


def interrupt_gently() -> None:
    """From now on Ctrl-C is an exception, so that half-written files are removed; only after `quit_at_once`."""
    if signal.getsignal(signal.SIGINT) is _quit:
        signal.signal(signal.SIGINT, _interrupt)


def was_interrupted() -> bool:
    """Whether there was a Ctrl-C, whatever exception has become of it."""
    return _was_interrupted


def _quit(number: int, frame: FrameType | None) -> None:
    os.write(2, f"{MESSAGE}\n".encode())
    os._exit(EXIT_CODE)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _was_interrupted
    _was_interrupted = True
    raise KeyboardInterrupt
