"""Pages as people with a screen reader, a keyboard or weak eyes meet them: what axe-core has against a page."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

LOOKS = ((1280, "light"), (390, "dark"))  # every width and every scheme once
SETTINGS = {"offline": True, "bypass_csp": True}  # of a context: the checker is a script that no page knows of


def looks(page: Any) -> Iterator[str]:
    """Show an open page on a desk in light and on a phone in dark, which is quicker than to open it twice."""
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.evaluate("new Promise(requestAnimationFrame)")  # what waits for a change of the look has seen it then
        yield f"{scheme}, {width} px"


def violations(page: Any) -> list[str]:
    """What axe-core finds on an open page as it looks now, with everything unfolded, one line a rule."""
    pytest.importorskip("axe_playwright_python", reason="axe-core comes with axe-playwright-python, of the extra dev")
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    if not page.evaluate("'axe' in window"):
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map("
        "(rule) => [rule.id, rule.help, rule.nodes.slice(0, 3).map((node) => String(node.target[0]))]))"
    )
    return [f"{rule}: {what}: {', '.join(where)}" for rule, what, where in found]


def violations_of_file(browser: Any, path: Any) -> list[str]:
    """The same of a file, in every look."""
    page = browser.new_page(**SETTINGS)
    page.goto(path.as_uri())
    found = [f"{path.name}, {look}: {line}" for look in looks(page) for line in violations(page)]
    page.close()
    return found
