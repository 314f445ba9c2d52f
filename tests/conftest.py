"""Settings of the whole suite."""

import gc
import os
import shutil

import pytest
from hypothesis import settings

# On CI the same examples every time; elsewhere new ones, which is how faults are found. Nowhere is an example timed:
# the machine may be busy with something else.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("new examples", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "new examples")

# Nine thousand tests and the modules they import are never garbage, and looking for some among them takes a while.
# What tests make is looked through less often than by default, which halves the time that it takes.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Examples in docstrings are the package's; looking for some in tests takes a while and finds none."""
    found = yield
    return [file for file in found if isinstance(file, pytest.Module)]


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk():
    """Nobody pulls the plug in a test, and to wait for the disk at every file takes seconds in all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # what is no open file is an error as ever
        yield


# Four seconds and more each: begun first, so that no worker is left alone with one of them at the end.
SLOWEST = (
    "docs/test_site.py",
    "test_newcomer_walk.py",
    "docs/test_docs.py::test_every_block_of_a_page_runs",
    "cli/test_streaming.py::test_memory",
    "learning/test_published_sjaffe.py",
)


def pytest_collection_modifyitems(items):
    def position(item):
        return next((k for k, name in enumerate(SLOWEST) if name in item.nodeid), len(SLOWEST))

    items.sort(key=position)


# Nobody waits for a page to scroll smoothly, or for Chromium's calls home.
BROWSER = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-smooth-scrolling",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium. Not for the whole session: while its driver lives, no other event loop runs in this thread."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no browser")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=BROWSER)
        yield started
        started.close()
