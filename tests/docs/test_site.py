"""The site builds without warnings, has no dead links and loads no external resources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote

import pytest
from accessibility import APPEARANCES, SETTINGS, violations

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "docs").is_dir():
    pytest.skip("the documents are not part of this copy of the project", allow_module_level=True)
SHOWN = (
    "index",
    "tutorial",
    "few_votes",
    "which_method",
    "guide/metrics",
    "guide/commands",
    "auto_examples/index",
    "api/estimators",
    "api/generated/ldlearn.DLDL",
)
CHECKED = ("index", "guide/commands", "api/estimators")  # by axe-core
NEEDED = (
    "sphinx",
    "myst_parser",
    "numpydoc",
    "sphinx_gallery",
    "pydata_sphinx_theme",
    "sphinx_design",
    "sphinx_copybutton",
    "latex2mathml",
)

# As `python -m sphinx` without garbage collection, which is slow and finds nothing.
SPHINX = (
    "import gc, sys; gc.disable(); from sphinx.cmd.build import main; sys.exit(main(sys.argv[1:]))"
)

# Sphinx writes regular HTML; these patterns are ten times as fast as a parser.
TAG = re.compile(r"<([a-z][a-z0-9]*)(\s[^<>]*)>")
ATTRIBUTE = re.compile(r"""\s(id|name|href|src|rel)=(["'])(.*?)\2""")


class Page:
    """Links, anchors and resources of a page."""

    def __init__(self, text: str) -> None:
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.resources: set[str] = set()
        for tag, attributes in TAG.findall(text):
            self.add_element(
                tag, {key: unescape(value) for key, _, value in ATTRIBUTE.findall(attributes)}
            )

    def add_element(self, tag: str, found: dict[str, str]) -> None:
        self.anchors |= {found[key] for key in ("id", "name") if key in found}
        if tag == "a" and "href" in found:
            self.links.add(found["href"])
        if tag in ("img", "script", "iframe") and "src" in found:
            self.resources.add(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "preload", "icon"):
            self.resources.add(found["href"])


def build(folder: Path) -> Path:
    """Build the site from a copy of the pages; their blocks and scripts are tested separately and
    not run."""
    for module in NEEDED:
        pytest.importorskip(module, reason=f'the site needs {module}: pip install ".[docs]"')
    ignored = shutil.ignore_patterns("_build", "_pictures", "api", "auto_examples", "__pycache__")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=ignored)
    for name in ("src", "examples", "benchmarks"):
        (folder / name).symlink_to(ROOT / name)
    settings = ["-D", "executed_pages=0", "-D", "sphinx_gallery_conf.plot_gallery=0"]
    site = folder / "site"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            SPHINX,
            "-q",
            "-W",
            "--keep-going",
            "-b",
            "html",
            *settings,
            folder / "docs",
            site,
        ],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return site


def dead_links(site: Path) -> list[str]:
    """Links to pages or anchors of the site that do not exist, and resources that are not in it."""
    files = {path.relative_to(site).as_posix(): path for path in site.rglob("*") if path.is_file()}
    pages = {
        name: Page(path.read_text(encoding="utf-8"))
        for name, path in files.items()
        if path.suffix == ".html" and not name.startswith("_static/")  # templates of the theme
    }
    dead = []
    for name, page in pages.items():
        dead += [
            f"{name}: {url} is loaded from elsewhere"
            for url in page.resources
            if re.match(r"(\w+:)?//", url)
        ]
        for url in page.links | page.resources:
            if re.match(r"\w+:|//", url):
                continue
            place, _, anchor = unquote(url).partition("#")
            target = normpath(join(dirname(name), place.partition("?")[0])) if place else name
            target = target if target in files else normpath(join(target, "index.html"))
            if target not in files or (
                anchor and target in pages and anchor not in pages[target].anchors
            ):
                dead.append(f"{name}: {url}")
    return dead


# Pictures and names in the contents that are wider than their column
CUT = """[...document.querySelectorAll("article img, nav.page-toc code")].some(
    (part) => part.getBoundingClientRect().right
        > part.closest("article, nav").getBoundingClientRect().right + 1)"""


def is_external(url: str) -> bool:
    return not url.startswith(("file:", "data:", "blob:"))


def find_browser_problems(browser: Any, site: Path) -> list[str]:
    """Errors, external requests, horizontal scrolling and violations found by axe-core."""
    found: list[str] = []
    for width, scheme in APPEARANCES:  # separate loads: scripts of the theme read both at the start
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **SETTINGS
        )
        page.on("request", lambda request: is_external(request.url) and found.append(request.url))
        page.on("pageerror", lambda error: found.append(str(error)))
        for name in SHOWN:
            page.goto((site / f"{name}.html").as_uri())
            if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                found.append(f"{name} scrolls sideways at a width of {width}")
            if page.evaluate(CUT):
                found.append(f"{name} has figures or contents that are cut at a width of {width}")
            if name in CHECKED:
                found.extend(f"{name}, {scheme}, {width} px: {line}" for line in violations(page))
        page.close()
    return found


def test_site_builds_without_problems(tmp_path, request):
    from ldlearn import all_estimators

    site = build(tmp_path)
    assert dead_links(site) == []
    for name, _ in all_estimators():
        assert list((site / "api" / "generated").glob(f"ldlearn.*{name}.html")), (
            f"{name} has no page"
        )
    assert "<math" in (site / "guide" / "dldl.html").read_text(encoding="utf-8")
    if shutil.which("chromium"):
        assert find_browser_problems(request.getfixturevalue("browser"), site) == []


def test_dead_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a id="x" href="b.html#y"></a><a href="#x"></a><a href="gone.html"></a>'
    )
    (tmp_path / "b.html").write_text(
        '<script src="https://elsewhere.example/x.js"></script><img src="no.png">'
    )
    assert sorted(dead_links(tmp_path)) == [
        "a.html: b.html#y",
        "a.html: gone.html",
        "b.html: https://elsewhere.example/x.js is loaded from elsewhere",
        "b.html: no.png",
    ]
