"""Accessibility of the report and the model card: no violations of axe-core, readable tables on a
phone."""

from dataclasses import replace

import pytest
from accessibility import violations_of_file
from example_tables import LABELS, make_table
from synthetic_records import DATASETS, METHODS, make_records, only_metrics

from ldlearn.reporting import Report
from ldlearn.tables import ColumnOptions, describe_file, fit_table, save_model, write_card

# axe-core checks every element, so two data sets and one or two methods of each kind suffice.
TWO_SETS = {
    name: DATASETS[name] for name in ("scut_fbp", "vader_tweets")
}  # few labels, and one data set of the paper
SOME = (
    "DLDL",
    "GLLE",
    "FCM",
    "UniformLE",
    "GLLE + SABFGS",
    "UniformLE + MeanLDL",
    "SABFGS on truth",
)
SOME_METHODS = {name: METHODS[name] for name in SOME}
TWO_METRICS = ("chebyshev", "intersection")  # one of them is visible
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    records = only_metrics(make_records(TWO_SETS, SOME_METHODS, repeats=2), TWO_METRICS)
    return Report(records, f"metrics = {list(TWO_METRICS)}").write(
        tmp_path_factory.mktemp("report"), formats=[]
    )


def test_violations_are_detected(browser, tmp_path):
    (tmp_path / "bad.html").write_text(
        '<html><img src="data:,"><p style="color:#ccc">pale</p></html>'
    )
    found = " ".join(violations_of_file(browser, tmp_path / "bad.html"))
    for rule in ("image-alt", "color-contrast", "html-has-lang", "document-title"):
        assert rule in found


ONE_APPEARANCE = """<html lang="en"><title>Looks</title><style>
body { background: #888; color: #000; }
@media (prefers-color-scheme: light) { #light { color: #999; } }
@media (prefers-color-scheme: dark) { #dark { color: #999; } }
@media (max-width: 40rem) { #narrow { color: #999; } }
</style><main><h1>Looks</h1>
<p id="light">one</p><p id="dark">two</p><p id="narrow">three</p><p id="redrawn">four</p></main>
<script>
matchMedia("(max-width: 40rem)").onchange = () => {
    document.querySelector("#redrawn").style.color = "#999";
};
</script></html>"""


def test_violation_in_one_colour_scheme_is_detected(browser, tmp_path):
    (tmp_path / "page.html").write_text(ONE_APPEARANCE)
    light, dark = violations_of_file(browser, tmp_path / "page.html")
    assert light.startswith("page.html, light, 1280 px: color-contrast:")
    assert light.endswith(": #light")
    assert dark.startswith("page.html, dark, 390 px: color-contrast:")
    assert dark.endswith(": #dark, #narrow, #redrawn")


def test_report_has_no_violations(browser, report):
    assert violations_of_file(browser, report) == []


def test_report_without_truth_has_no_violations(browser, tmp_path):
    records = [
        replace(
            record,
            recovery={},
            degrees={"prediction": [[0.5, 0.5]], "recovery": [[0.5, 0.5]]},
            prediction=record.prediction and {"vote_likelihood": -1.0 - record.repeat},
            samples=record.samples and replace(record.samples, truth=None),
        )
        for record in make_records({"mine": ["a", "b"]}, SOME_METHODS, repeats=2, missing=())
        if record.kind != "learner"
    ]
    page = Report(records).write(tmp_path, formats=[])
    assert violations_of_file(browser, page) == []
    errors = []
    opened = browser.new_page()
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(page.as_uri())
    opened.click('.links a[href="#agreement"]')
    assert opened.locator("#agreement table").first.is_visible()
    opened.click('.links a[href="#samples"]')
    opened.click("#sample-next")
    assert errors == []
    opened.close()


def test_model_card_has_no_violations(browser, tmp_path):
    make_table().to_csv(tmp_path / "data.csv", index=False)
    save_model(
        fit_table(
            str(tmp_path / "data.csv"), LABELS, holdout=0.25, columns=ColumnOptions(id="key")
        ),
        str(tmp_path / "m.ldl"),
    )
    write_card(describe_file(tmp_path / "m.ldl"), tmp_path / "card.html")
    assert violations_of_file(browser, tmp_path / "card.html") == []


def test_method_column_is_sticky_on_a_phone(browser, report):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(report.as_uri() + "#recovery")
    row = page.locator("#recovery .metric:not([hidden]) table.scores tbody tr").first
    page.evaluate(
        "document.querySelector('#recovery .metric:not([hidden]) .scroll').scrollLeft = 1000"
    )
    box = row.locator("th").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.close()
