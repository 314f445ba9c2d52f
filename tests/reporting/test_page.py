"""The HTML report: self-contained, escaped, numbers as in the records."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from synthetic_records import DATASETS, HOSTILE, METHODS, make_records, malicious_records

from ldlearn.evaluation import Results
from ldlearn.evaluation.text_tables import format_number
from ldlearn.reporting import Report
from ldlearn.reporting.page import example_row, page_data, template_environment
from ldlearn.reporting.run_summary import summarize_convergence

RECORDS = make_records(repeats=2, failed=[("yeast", "FCM")])
PLAN = """
name = "small & <quick>"
description = "A test of everything."
metrics = ["intersection", "chebyshev"]
"""


class Page(HTMLParser):
    """Parsed elements with their attributes, and the text of each tag."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.texts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "img", "input", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        self.texts.append((tuple(self.open), data))

    def text(self):
        return " ".join(t for where, t in self.texts if not {"script", "style"} & set(where))


@pytest.fixture(scope="module")
def report():
    return Report(RECORDS, PLAN)


@pytest.fixture(scope="module")
def html(report):
    return report.html()


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def test_page_has_no_external_resources(html, page):
    for tag, attributes in page.elements:
        for key in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
            link = attributes.get(key) or ""
            assert link.startswith("#") or link in ("", "data:,"), (tag, link)
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    assert "@font-face" not in style


def test_content_security_policy_allows_only_the_embedded_script(html, page):
    policy = next(
        a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    handlers = [
        key for _, attributes in page.elements for key in attributes if key.startswith("on")
    ]
    assert handlers == []


def test_ids_are_unique(page):
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_plan_gives_title_description_and_metrics(html, page):
    assert "<title>Experiment “small &amp; &lt;quick&gt;”</title>" in html
    assert "A test of everything." in page.text()
    options = [a["value"] for tag, a in page.elements if tag == "option"]
    assert options[:3] == ["intersection", "chebyshev", "clark"]


def test_page_starts_with_an_example_row_and_conclusions(page):
    titles = [text for where, text in page.texts if where[-1:] == ("h2",)]
    assert titles[:3] == ["One row", "Results", "How to read this"]
    assert sum("of the mass with the truth" in text for _, text in page.texts) == 2 * len(DATASETS)


def test_example_row_has_a_typical_intersection(report):
    stored = page_data(report.results)["samples"]
    displayed = example_row(report.results, stored)
    rows = {row["row"]: row for row in stored[displayed["dataset"]]["rows"]}
    overlap = {n: sum(map(min, row["truth"], row["degrees"]["DLDL"])) for n, row in rows.items()}
    assert displayed["method"] == "DLDL"
    assert (
        3 <= sum(value < overlap[displayed["row"]] for value in overlap.values()) <= 8
    )  # of twelve
    assert [label["degree"] for label in displayed["labels"]] == rows[displayed["row"]]["degrees"][
        "DLDL"
    ]
    assert displayed["text"] == f"text {displayed['row']} <&>"


def test_every_score_is_in_the_page(report, page):
    text = page.text()
    for table in report.tables.values():
        for cell in table.scores.values():
            if cell.spread:
                assert f"{cell.spread.mean:.4f}" in text


def test_baselines_are_shaded_and_the_best_is_bold(report, page):
    assert sum(a.get("class") == "baseline" for tag, a in page.elements if tag == "tr") > 0
    n_best = sum(a.get("class") == "best" for tag, a in page.elements if tag == "td")
    assert n_best == sum(
        cell.best for table in report.tables.values() for cell in table.scores.values()
    )


def test_missing_and_failed_cells_are_listed(page):
    text = page.text()
    assert "raf_ml is not on this machine" in text
    assert "ValueError: the kernel matrix is singular" in text
    assert "1 failed" in text
    assert any(
        a.get("value") == "raf_ml" and "disabled" in a
        for tag, a in page.elements
        if tag == "option"
    )


def test_page_explains_terms(page):
    terms = [text for where, text in page.texts if where[-1:] == ("dt",)]
    assert {"Recovery", "Prediction", "Baseline", "Rank", "Label distribution"} <= set(terms)


def test_only_metrics_of_the_plan_are_tested(report, html):
    assert {metric for _, metric in report.conclusions} == {"intersection", "chebyshev"}
    diagrams = sum(found.pairs is not None for found in report.conclusions.values())
    assert html.count('<figure class="diagram">') == 4 + diagrams + 1  # differences and costs


def test_rank_diagrams_only_for_significant_differences():
    plan = 'metrics = ["chebyshev"]'
    some = {name: METHODS[name] for name in ("DLDL", "GLLE", "FCM", "UniformLE")}
    few = Report(
        make_records({"a": ["x", "y"], "b": ["x", "y"]}, some, repeats=1, missing=()), plan
    )
    assert "Critical-difference diagram" not in few.html()
    many = Report(
        make_records({f"set{i}": ["a", "b", "c"] for i in range(12)}, some, repeats=1, missing=()),
        plan,
    )
    assert (
        many.html().count("Critical-difference diagram")
        == sum(v.pairs is not None for v in many.conclusions.values())
        > 0
    )


def test_selection_is_described_at_the_top(html):
    top = html[: html.index('<nav class="bar"')]
    assert "selected by true distributions" in top
    assert "18 for DLDL, 1 to 18 for the others" in top


def test_summary_has_sentences_for_every_data_set(page):
    displayed = [a for _, a in page.elements if "data-summary" in a]
    assert {a["data-summary"] for a in displayed} == {"", *DATASETS}
    assert all(("hidden" in a) == (a["data-summary"] != "") for a in displayed)


def test_diagrams_use_css_colours(html):
    diagrams = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert diagrams
    for diagram in diagrams:
        assert "var(--ink)" in diagram
        assert not re.search(r"#(1f2430|667085|0072b2)", diagram)
        assert "metadata" not in diagram


def test_embedded_data_match_the_records(html):
    embedded = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL
    )[1]
    data = json.loads(embedded)
    sample = data["samples"]["yeast"]["rows"][2]
    record = next(r for r in RECORDS if (r.dataset, r.method, r.repeat) == ("yeast", "GLLE", 0))
    assert sample["row"] == record.samples.rows[2]
    assert sample["degrees"]["GLLE"] == pytest.approx(record.samples.recovered[2], abs=5e-5)
    assert sample["truth"] == pytest.approx(record.samples.truth[2], abs=5e-5)
    assert set(sample["degrees"]) == {
        m for m, (kind, *_) in METHODS.items() if kind in ("joint", "enhancer")
    }
    curve = data["sensitivity"]["yeast"]["DLDL"]["recovery"][0]
    assert (curve["parameter"], curve["names"]) == ("alpha", ["0.001", "0.1", "10"])
    assert sum(curve["chosen"]) == 2
    dldl = next(r for r in RECORDS if (r.dataset, r.method) == ("yeast", "DLDL"))
    assert data["convergence"]["yeast"]["DLDL"] == pytest.approx(dldl.convergence.objective)


def test_samples_are_those_of_the_first_repeat():
    assert len(page_data(Results(RECORDS))["samples"]["yeast"]["rows"]) == 12


def test_names_are_escaped():
    text = Report(
        malicious_records(), f'name = {json.dumps(HOSTILE[1])}\nmetrics = ["chebyshev"]'
    ).html()
    page = Page(text)
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert "img" not in [tag for tag, _ in page.elements]
    assert not any(key.startswith("on") for _, attributes in page.elements for key in attributes)
    assert "49" not in re.findall(r"\b49\b", page.text())
    assert HOSTILE[2] in page.text()


def test_embedded_json_cannot_close_the_script():
    template = template_environment().from_string("{{ data | tojson }}")
    text = template.render(data={"</script>": "<!--&"})
    assert "<" not in text
    assert json.loads(text) == {"</script>": "<!--&"}


def test_non_finite_numbers_become_null():
    records = make_records({"yeast": ["a", "b"]}, repeats=1, missing=())
    records[0].convergence.objective[0] = float("nan")
    assert page_data(Results(records))["convergence"]["yeast"]["DLDL"][0] is None


def test_duality_gap_is_listed_with_its_ratio_to_the_objective(html):
    entry = next(
        entry for entry in summarize_convergence(Results(RECORDS)) if entry.gap is not None
    )
    gap, objective = entry.gap.mean, entry.objective.mean
    displayed = (
        f'<td data-v="{gap}">{gap:.3g}</td><td '
        f'data-v="{abs(gap / objective)}">{abs(gap / objective):.3g}</td>'
    )
    assert displayed in html


def test_numbers_are_rounded_and_missing_ones_are_dashes():
    assert format_number(None) == format_number(float("nan")) == "–"
    assert format_number(0.000123456, ".3g") == "0.000123"
