"""Accessibility violations of pages, found by axe-core."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

APPEARANCES = ((1280, "light"), (390, "dark"))  # each width and colour scheme once
SETTINGS = {
    "offline": True,
    "bypass_csp": True,
}  # of a context: axe-core is injected, which the content security policy would block


def appearances(page: Any) -> Iterator[str]:
    """Set an open page to desktop width with light colours, then to phone width with dark
    colours."""
    for width, scheme in APPEARANCES:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.evaluate("new Promise(requestAnimationFrame)")  # media-query listeners have run
        yield f"{scheme}, {width} px"


def violations(page: Any) -> list[str]:
    """Violations found by axe-core on an open page with all details expanded, one line per rule."""
    pytest.importorskip(
        "axe_playwright_python",
        reason="axe-core comes with axe-playwright-python, of the extra dev",
    )
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    if not page.evaluate("'axe' in window"):
        page.evaluate(
            files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
        )
    found = page.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => "
        "violations.map("
        "(rule) => [rule.id, rule.help, rule.nodes.slice(0, 3).map((node) => "
        "String(node.target[0]))]))"
    )
    return [f"{rule}: {what}: {', '.join(where)}" for rule, what, where in found]


def violations_of_file(browser: Any, path: Any) -> list[str]:
    """Violations of a file with each size and colour scheme."""
    page = browser.new_page(**SETTINGS)
    page.goto(path.as_uri())
    found = [
        f"{path.name}, {appearance}: {line}"
        for appearance in appearances(page)
        for line in violations(page)
    ]
    page.close()
    return found
