"""What Ctrl-C does to the process of `ldlearn`: one line and exit code 130, at any time."""

from __future__ import annotations

import os

EXIT_CODE = 130  # 128 + SIGINT, as shells count
MESSAGE = "interrupted."
_was_interrupted = False


def quit_now(number: int, frame: object) -> None:
    """The handler while modules are imported: end the process without further ado.

    There is nothing to clean up yet, and an exception that is raised inside an import can be turned into another one,
    or be ignored, by the module that is being imported.
    """
    # Not print: a handler may run in the middle of another write to the same buffer, which Python refuses.
    os.write(2, f"ldlearn: {MESSAGE}\n".encode())
    os._exit(EXIT_CODE)


def interrupt(number: int, frame: object) -> None:
    """The handler while a command runs: an exception, so that half-written files are removed."""
    global _was_interrupted
    _was_interrupted = True
    raise KeyboardInterrupt


def was_interrupted() -> bool:
    """Whether there was a Ctrl-C, whatever exception has become of it."""
    return _was_interrupted
