"""Pages as people with a screen reader, a keyboard or weak eyes meet them: what axe-core has against a page."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest

LOOKS = ((1280, "light"), (390, "dark"))  # every width and every scheme once


def violations(page: Any) -> list[str]:
    """What axe-core finds on an open page with everything unfolded, one line a rule.

    The page must be of a context with ``bypass_csp=True``: the checker is a script that the page knows nothing of.
    """
    pytest.importorskip("axe_playwright_python", reason="axe-core comes with axe-playwright-python, of the extra dev")
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{rule['id']}: {rule['help']}: {', '.join(str(node['target'][0]) for node in rule['nodes'][:3])}"
        for rule in found["violations"]
    ]


def violations_of_file(browser: Any, path: Any) -> list[str]:
    """The same of a file, on a desk in light and on a phone in dark."""
    found = []
    for width, scheme in LOOKS:
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=scheme, offline=True, bypass_csp=True)
        page = context.new_page()
        page.goto(path.as_uri())
        found += [f"{path.name}, {scheme}, {width} px: {line}" for line in violations(page)]
        context.close()
    return found
