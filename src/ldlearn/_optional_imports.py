"""Packages that ldlearn uses if they are installed."""

from importlib import import_module
from typing import Any

from ldlearn.exceptions import MissingDependencyError


def import_optional(module: str, extra: str | None, purpose: str) -> Any:
    """Import an optional package, or raise an error that says how to install it.

    Parameters
    ----------
    module : str
        Name of the module, such as ``"h5py"``.
    extra : str or None
        The extra of ours that installs it, if one does.
    purpose : str
        What needs it, as the subject of the sentence, in the plural: "Parquet files".

    Examples
    --------
    >>> import_optional("nowhere", "cli", "Files")
    Traceback (most recent call last):
    ...
    ldlearn.exceptions.MissingDependencyError: Files need nowhere: pip install nowhere, or ".[cli]" in a checkout...
    """
    try:
        return import_module(module)
    except ImportError as error:
        package, missing = (name.partition(".")[0] for name in (module, error.name or ""))
        # A package that is there but broken must not be reported as absent.
        if not isinstance(error, ModuleNotFoundError) or missing != package:
            raise
        package = package.replace("_", "-")
        raise MissingDependencyError(
            f"{purpose} need {package}: {install_advice(package, extra)}."
        ) from None


def install_advice(packages: str, extra: str | None) -> str:
    """How to install a missing package; ldlearn itself is in no index, so that its name alone
    installs nothing.

    Examples
    --------
    >>> print(install_advice("typer rich", "cli"))
    pip install typer rich, or ".[cli]" in a checkout of ldlearn
    """
    ours = f', or ".[{extra}]" in a checkout of ldlearn' if extra else ""
    return f"pip install {packages}{ours}"
