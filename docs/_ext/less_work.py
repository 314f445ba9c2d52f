"""Sphinx extension: the same site in three quarters of the time. Tests build it, so everybody waits
for it."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any, NoReturn

from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from pydata_sphinx_theme import toctree
from sphinx.application import Sphinx
from sphinx.builders import html
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer
from sphinx.search.en import SearchEnglish


def setup(app: Sphinx) -> dict[str, Any]:
    """Do once what is done again for every docstring and every word."""
    docscrape_sphinx.SandboxedEnvironment = _one_environment()
    SearchEnglish.stem = cache(SearchEnglish.stem)  # type: ignore[method-assign]
    ModuleAnalyzer.for_module = _no_comments  # type: ignore[method-assign]
    html._file_checksum = cache(html._file_checksum)
    toctree._patch_cached_sidebar = _sidebar
    logging.disable(logging.DEBUG)  # tens of thousands of lines
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _one_environment() -> Any:
    """numpydoc makes an environment for each docstring, which compiles the template anew; here all
    share the first."""
    made: dict[str, SandboxedEnvironment] = {}

    def environment(loader: Any) -> SandboxedEnvironment:
        return made.setdefault("first", SandboxedEnvironment(loader=loader))

    return environment


def _no_comments(name: str) -> NoReturn:
    """Modules are not searched for comments that describe attributes: docstrings do, in the way of
    numpydoc."""
    raise PycodeError(f"{name} is not read")


def _sidebar(app: Sphinx, key: Any, page: str, show_nav_level: int) -> str | None:
    """The links beside a page, made from those of the page before by moving the marks of the
    current one.

    The theme does so too, but writes all sections anew for every page; here, those that a mark has
    left or reached.
    """
    cached = toctree._sidebar_cache(app).get(key)
    if cached is None:
        return None
    before, soup, *texts = cached
    sections = soup.ul("li", recursive=False)
    left = _marked(sections)
    old, new = (
        app.builder.get_relative_uri(page, before),
        app.builder.get_relative_uri(before, page),
    )
    if not toctree._move_current_markers(
        soup, old_href=old, new_href=new, show_nav_level=show_nav_level
    ):
        return None
    changed = left | _marked(sections) if texts else range(len(sections))
    texts = texts or [""] * len(sections)
    for number in changed:
        texts[number] = str(sections[number])
    cached[:] = [page, soup, *texts]
    classes = " ".join(soup.ul["class"])
    return f'<ul class="{classes}">\n' + "\n".join(texts) + "\n</ul>\n"


def _marked(sections: Any) -> set[int]:
    return {number for number, section in enumerate(sections) if "current" in section["class"]}
