"""Settings of the test suite."""

import gc
import os
import shutil

import pytest
from hypothesis import settings

# The same examples on every CI run; new ones elsewhere, to find more faults. No deadlines:
# the machine may be busy.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("new examples", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "new examples")

# Collected tests and imported modules are never garbage; scanning them is slow.
# A higher threshold halves the time of garbage collection.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Collect doctests only from the package; tests have none."""
    found = yield
    return [file for file in found if isinstance(file, pytest.Module)]


@pytest.fixture(scope="session", autouse=True)
def no_fsync():
    """Replace fsync, which takes seconds in total."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # invalid descriptors still raise
        yield


# Four seconds or more each: started first, so that no worker has to finish one alone at the end.
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


# No smooth scrolling, no background requests of Chromium.
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
    """Debian's Chromium. Not session-scoped: its driver prevents other event loops in this
    thread."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no browser")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=BROWSER)
        yield started
        started.close()
