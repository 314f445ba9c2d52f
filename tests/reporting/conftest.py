"""Fixtures that open pages in a real browser."""

import pytest


@pytest.fixture(scope="module")
def tab(browser):
    """An empty page with given size and colour scheme, shared by all tests because creating one is
    slow."""
    made = {}

    def empty_page(width, height, scheme):
        if (width, height, scheme) not in made:
            size = {"width": width, "height": height}
            made[width, height, scheme] = browser.new_page(viewport=size, color_scheme=scheme)
        made[width, height, scheme].goto("about:blank")
        return made[width, height, scheme]

    return empty_page


@pytest.fixture
def open_page(tab):
    """Open a file; afterwards check that no error and no other request occurred."""
    pages, errors, requests = [], [], []
    watchers = {
        "console": lambda message: errors.append(message.text) if message.type != "log" else None,
        "pageerror": lambda error: errors.append(str(error)),
        "request": lambda request: requests.append(request.url),
    }

    def open_file(path, width=1280, height=900, scheme="light"):
        pages.append(tab(width, height, scheme))
        for event, watcher in watchers.items():
            pages[-1].on(event, watcher)
        pages[-1].goto(path.as_uri())
        return pages[-1]

    yield open_file
    for page in pages:
        for event, watcher in watchers.items():
            page.remove_listener(event, watcher)
    assert errors == []
    assert requests
    assert all(url.startswith(("file:", "data:")) for url in requests)
