"""Sphinx extension: the same site in three quarters of the time. Tests build it, so everybody waits for it."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any, NoReturn

from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from sphinx.application import Sphinx
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer
from sphinx.search.en import SearchEnglish


def setup(app: Sphinx) -> dict[str, Any]:
    """Do once what is done again for every docstring and every word."""
    docscrape_sphinx.SandboxedEnvironment = _one_environment()
    SearchEnglish.stem = cache(SearchEnglish.stem)  # type: ignore[method-assign]
    ModuleAnalyzer.for_module = _no_comments  # type: ignore[method-assign]
    logging.disable(logging.DEBUG)  # tens of thousands of lines that nobody reads
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _one_environment() -> Any:
    """numpydoc makes an environment for each docstring, which compiles the template anew; here all share the first."""
    made: dict[str, SandboxedEnvironment] = {}

    def environment(loader: Any) -> SandboxedEnvironment:
        return made.setdefault("first", SandboxedEnvironment(loader=loader))

    return environment


def _no_comments(name: str) -> NoReturn:
    """Modules are not searched for comments that describe attributes: docstrings do, in the way of numpydoc."""
    raise PycodeError(f"{name} is not read")
