"""The report page in a real browser."""

from dataclasses import replace
from itertools import pairwise

import pytest
from synthetic_records import make_records, malicious_records, only_metrics

from ldlearn.reporting import Report

# Metrics named in the plan have figures; the others have only tables.
ONE_METRIC, TWO_METRICS = 'metrics = ["chebyshev"]', 'metrics = ["chebyshev", "intersection"]'
THREE = ("chebyshev", "intersection", "cosine")
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    records = only_metrics(make_records(repeats=2, failed=[("yeast", "FCM")]), THREE)
    return Report(records, TWO_METRICS).write(tmp_path_factory.mktemp("report"), formats=[])


@pytest.fixture
def open_page(open_page):
    """Open a page and expand its sections, which are collapsed at first."""

    def opened(path, **options):
        page = open_page(path, **options)
        page.evaluate("all('details.fold').forEach((part) => { part.open = true; })")
        return page

    return opened


def visible_table(page, task):
    return page.locator(f"#{task} .metric:not([hidden]) table.scores")


def column(page, task, index):
    cells = visible_table(page, task).locator(f"tbody tr > :nth-child({index})")
    return [cell.get_attribute("data-v") for cell in cells.all()]


def test_sorting_a_column_by_mouse_and_by_keyboard(open_page, page_file):
    page = open_page(page_file)
    page.select_option("#pick-metric", "chebyshev")
    head = visible_table(page, "recovery").locator("thead th").nth(1)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    values = [float(v) for v in column(page, "recovery", 2)]
    assert values == sorted(values)
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert [float(v) for v in column(page, "recovery", 2)] == values[::-1]
    visible_table(page, "recovery").locator("thead button").first.click()
    names = column(page, "recovery", 1)
    assert names == sorted(names, key=str.lower)
    assert visible_table(page, "recovery").locator('th[aria-sort="ascending"]').count() == 1


def test_switching_the_metric_changes_every_section(open_page, page_file):
    page = open_page(page_file)
    assert page.locator("#recovery .metric:visible").count() == 1
    assert (
        page.locator("#pick-metric").input_value() == "intersection"
    )  # independent of the first metric of the plan
    for section in ("summary", "recovery", "prediction"):
        visible = page.locator(f"#{section} [data-metric]:visible")
        assert visible.count() >= 1
        assert {e.get_attribute("data-metric") for e in visible.all()} == {"intersection"}
    head = visible_table(page, "recovery").locator("thead th").nth(1)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"  # the best first: greater is better


def test_selecting_a_data_set_shows_its_scores(open_page, page_file):
    page = open_page(page_file)
    page.select_option("#pick-metric", "chebyshev")
    page.select_option("#pick-dataset", "yeast")
    heads = visible_table(page, "recovery").locator("thead th:visible")
    assert [h.inner_text().split()[0] for h in heads.all()][:2] == ["Method", "yeast"]
    assert heads.count() == 3
    dots = visible_table(page, "recovery").locator("td.plot circle")
    assert dots.count() == 7
    places = [float(dot.get_attribute("cx")) for dot in dots.all()]
    assert places == sorted(places)
    assert page.locator("#sample-dataset").input_value() == "yeast"
    assert "the best mean on yeast" in page.locator("#summary .card:visible").first.inner_text()
    page.select_option("#pick-dataset", "")
    summary = page.locator("#summary .card:visible").first.inner_text()
    assert "average rank" in summary
    assert "on yeast" not in summary
    assert visible_table(page, "recovery").locator("thead th:visible").count() == 6


def test_tied_methods_are_listed(open_page, tmp_path):
    records = [
        replace(
            record,
            recovery=record.recovery
            and record.recovery | {"chebyshev": 0.1 + 0.2 * record.is_baseline},
        )
        for record in make_records(repeats=2, missing=())
        if record.kind in ("joint", "enhancer")
    ]
    page = open_page(Report(records, ONE_METRIC).write(tmp_path, formats=[]))
    summary = page.locator("#summary .card:visible").first.inner_text()
    assert "DLDL, DLDL (paper), L2, GLLE and FCM share the best average rank, 3.00" in summary
    page.select_option("#pick-dataset", "scut_fbp")
    assert (
        "share the best mean on scut_fbp, 0.1000"
        in page.locator("#summary .card:visible").first.inner_text()
    )


def test_selecting_a_sample_draws_its_distributions(open_page, page_file):
    page = open_page(page_file)
    page.click('.links a[href="#samples"]')
    page.select_option("#sample-dataset", "vader_tweets")
    page.select_option("#sample-row", "5")
    panels = page.locator("#sample-bars .panel")
    assert panels.count() == 1 + 7
    record = next(
        r
        for r in make_records(repeats=2)
        if (r.dataset, r.method, r.repeat) == ("vader_tweets", "GLLE", 0)
    )
    truth, recovered = (rows[5] for rows in (record.samples.truth, record.samples.recovered))
    intersection = sum(min(a, b) for a, b in zip(truth, recovered, strict=True))
    glle = panels.filter(has_text="GLLE")
    assert f"intersection {intersection:.3f}" in glle.inner_text()
    widths = [float(bar.get_attribute("width")) for bar in glle.locator("rect").all()]
    assert [w / sum(widths) for w in widths] == pytest.approx(recovered, abs=1e-3)
    page.click("#sample-next")
    assert page.locator("#sample-row").input_value() == "6"
    page.click("#sample-previous")
    page.click("#sample-previous")
    assert page.locator("#sample-row").input_value() == "4"


def test_links_expand_collapsed_sections(open_page, page_file):
    page = open_page(page_file)
    page.reload()
    assert page.locator("#row table").is_visible()
    assert page.locator("#reading dl").is_visible()
    for section in ("summary", "recovery", "prediction", "cost"):
        assert not page.locator(f"#{section} details > :not(summary)").first.is_visible()
    page.click('.links a[href="#cost"]')
    assert page.locator("#cost table").is_visible()
    assert page.evaluate("document.documentElement.scrollHeight") < 6 * 900


def test_columns_do_not_overlap_on_a_phone(open_page, page_file):
    page = open_page(page_file, width=390, height=844)
    for table in page.locator("table:visible").all():
        boxes = [
            box
            for cell in table.locator("tbody tr").first.locator("th, td").all()
            if (box := cell.bounding_box())
        ]
        for left, right in pairwise(boxes):
            assert left["x"] + left["width"] <= right["x"] + 1


def test_sensitivity_selectors(open_page, page_file):
    page = open_page(page_file)
    page.click('.links a[href="#sensitivity"]')
    page.click('.links a[href="#convergence"]')
    page.select_option("#sensitivity-dataset", "scut_fbp")
    page.select_option("#sensitivity-method", "L2")
    assert (
        page.locator("#sensitivity-panels h4").all_inner_texts() == ["alpha", "beta", "gamma"] * 2
    )
    assert page.locator("#convergence-panels .panel").count() == 4


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_horizontal_scrolling_on_a_phone(open_page, page_file, scheme):
    page = open_page(page_file, width=390, height=844, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    page.select_option("#pick-dataset", "yeast")
    page.select_option("#pick-dataset", "")
    widths = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert widths == [390, 390]
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")


def test_every_control_can_be_reached_by_keyboard(open_page, page_file):
    page = open_page(page_file)
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"pick-metric", "pick-dataset", "SUMMARY", "BUTTON", "A"} <= reached


def test_malicious_names_are_escaped(open_page, tmp_path):
    page = open_page(Report(malicious_records(), ONE_METRIC).write(tmp_path, formats=[]))
    page.select_option("#pick-dataset", index=1)
    page.click('.links a[href="#samples"]')
    page.click("#sample-next")
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0
    assert "{{ 7 * 7 }}" in page.locator("body").inner_text()


def test_run_without_figures_causes_no_error(open_page, tmp_path):
    page = open_page(Report(make_records({}, missing=["raf_ml"])).write(tmp_path, formats=[]))
    page.click('.links a[href="#samples"]')
    assert "nothing to show" in page.locator("#samples").inner_text()
