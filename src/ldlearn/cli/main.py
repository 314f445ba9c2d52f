"""The entry point: one import line per command file, and errors as one sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

try:
    from ldlearn.cli.app import UserError, app
except ModuleNotFoundError as error:
    if error.name != "typer":
        raise
    raise SystemExit('The command line needs typer and rich: pip install "ldlearn[cli]".') from None

# A command file is plugged in here, by one line; the order is that of the help page.
import ldlearn.cli.compare
import ldlearn.cli.methods
import ldlearn.cli.practice
import ldlearn.cli.run  # noqa: F401

__all__ = ["app", "main"]

_EXPECTED = (UserError, ValueError, OSError, ImportError)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; always ends in `SystemExit`.

    Exit codes: 0 success, 1 an error the user can put right (one sentence on standard error), 2 wrong usage,
    130 interrupted.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given or bool(os.environ.get("LDLEARN_DEBUG"))
    try:
        app(args=[word for word in given if word != "--debug"], prog_name="ldlearn")
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except _EXPECTED as error:
        if debug:
            raise
        _fail(_sentence(error))
    except Exception as error:
        if debug:
            raise
        _fail(f"Unexpected {type(error).__name__}: {error} (run again with --debug to see where).")
    raise SystemExit(0)


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.strerror or type(error).__name__}: {error.filename}"
    return " ".join(str(error).split()) or type(error).__name__


def _fail(sentence: str) -> NoReturn:
    print(f"ldlearn: {sentence}", file=sys.stderr)
    raise SystemExit(1)


if __name__ == "__main__":
    main()
