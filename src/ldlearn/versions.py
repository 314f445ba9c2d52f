"""Versions of what computes results, for records and model files."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version


@cache
def installed_versions() -> dict[str, str]:
    """Versions of Python, this package, numpy, scipy and scikit-learn."""
    from ldlearn import __version__

    ours = {"python": platform.python_version(), "ldlearn": __version__}
    return ours | {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
