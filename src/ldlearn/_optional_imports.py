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
    ldlearn.exceptions.MissingDependencyError: Files need nowhere: pip install nowhere, or ...
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        missing = (error.name or "").partition(".")[0]
        # A package that is there but broken must not be reported as absent.
        if not isinstance(error, ModuleNotFoundError) or missing != package:
            raise
        package = package.replace("_", "-")
        advice = f"pip install {package}"
        # ldlearn itself is in no index, so that its name alone installs nothing.
        if extra:
            advice += f', or ".[{extra}]" in a checkout of ldlearn'
        raise MissingDependencyError(f"{purpose} need {package}: {advice}.") from None
