"""The browse page: its data, and its behaviour in a real browser."""

import base64
import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from accessibility import violations_of_file
from example_tables import LABELS, make_table, make_votes
from scipy.stats import entropy

from ldlearn.exceptions import FileError, ParameterError, TableError
from ldlearn.joint import DLDL, CountLDL
from ldlearn.learning import SABFGS
from ldlearn.reporting import browse, write_browse_page
from ldlearn.tables import ColumnOptions, TableModel, load_table_model, save_model
from ldlearn.tables.formulas import escape_formula
from ldlearn.tables.table_files import label_losses

MALICIOUS = [
    "</script><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "{{ 7 * 7 }}",
]
FAST = {"alpha": 0.0, "beta": 0.1, "gamma": 0.1}


def make_texts(n=60):
    """A table with a text column."""
    words = np.random.default_rng(1).choice(["walk", "photo", "evening"], size=(n, 4))
    return make_table(n).assign(note=[f"One {', '.join(row)}." for row in words])


@pytest.fixture(scope="module")
def table():
    table = make_texts()
    table.loc[40, "height"] = 90.0  # far from the training rows
    return table


@pytest.fixture(scope="module")
def model():
    columns = ColumnOptions(id="key", numeric="height,wet", text="note")
    return TableModel.fit(make_texts(), LABELS, estimator=DLDL(**FAST), columns=columns)


@pytest.fixture(scope="module")
def page_file(table, model, tmp_path_factory):
    path = tmp_path_factory.mktemp("browse") / "page.html"
    write_browse_page(table, model, str(path))
    return path


def data_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1]
    )


def unpack(text, dtype, shape=-1):
    return np.frombuffer(base64.b64decode(text), dtype).reshape(shape)


def degrees_of(text, n):
    return unpack(text, "<u2", (n, -1)) / 1e4


def test_page_data_match_the_model(page_file, table, model):
    data, n = data_of(page_file), len(table)
    assert data["names"] == list(table["key"])
    assert data["columns"] == ["note"]
    assert np.array_equal(unpack(data["given"], np.uint8, (n, 3)), table[LABELS])
    recovered, predicted = data["series"]
    assert (recovered["name"], predicted["name"]) == ("recovered", "predicted")
    D, P = model.enhance(table).to_numpy(), model.predict(table).to_numpy()
    assert np.allclose(degrees_of(recovered["degrees"], n), D, atol=5.1e-5)
    assert np.allclose(degrees_of(predicted["degrees"], n), P, atol=5.1e-5)
    low, high = model.estimator.predict_interval(model.transform(table), 0.9)
    assert np.allclose(degrees_of(predicted["low"], n), low, atol=5.1e-5)
    assert np.allclose(degrees_of(predicted["high"], n), high, atol=5.1e-5)
    scores = {score["name"]: unpack(score["values"], "<f4") for score in data["scores"]}
    assert list(scores) == ["entropy", "interval width", "disagreement", "distance"]
    assert np.allclose(scores["entropy"], entropy(D.T), atol=1e-6)
    far = model.estimator.far_from_training(model.transform(table))
    assert np.array_equal(scores["distance"] > 1, far)
    assert far[40]


def test_disagreement_is_the_likelihood_of_the_vote_model():
    P = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.3, 0.4, 0.3]])
    Y = np.array([[1.0, 0.0, np.nan], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])

    def total(rate):
        positive = 1 - np.exp(-rate * P)
        return np.where(np.isnan(Y), np.nan, -np.log(np.where(Y == 1, positive, 1 - positive)))

    rates = np.linspace(0.1, 10, 9901)
    best = rates[np.argmin([np.nansum(total(rate)) for rate in rates])]
    assert np.allclose(label_losses(P, Y), total(best), atol=2e-3, equal_nan=True)


def test_table_without_labels_shows_only_predictions(table, model, tmp_path):
    page = tmp_path / "page.html"
    write_browse_page(table.drop(columns=LABELS), model, str(page))
    data = data_of(page)
    assert data["given"] is None
    assert [each["name"] for each in data["series"]] == ["predicted"]
    assert [score["name"] for score in data["scores"]] == ["entropy", "interval width", "distance"]


def test_model_without_intervals_shows_none(table, model, tmp_path):
    fitted = TableModel.fit(
        table,
        LABELS,
        estimator=DLDL(**FAST),
        columns=ColumnOptions(id="key", numeric="height,wet", ignore="note"),
    )
    save_model(fitted, tmp_path / "m.ldl")
    write_browse_page(table, load_table_model(tmp_path / "m.ldl"), str(tmp_path / "page.html"))
    data = data_of(tmp_path / "page.html")
    assert [score["name"] for score in data["scores"]] == ["entropy", "disagreement"]
    assert data["series"][0]["low"] is None
    assert "% intervals" not in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert data["columns"] == ["height", "wet", "place"]  # no texts: the features


def test_votes_are_displayed_as_degrees(table, tmp_path):
    votes = table.assign(**{name: table[name] * (k + 2) for k, name in enumerate(LABELS)})
    columns = ColumnOptions(id="key", numeric="height,wet", ignore="note", kind="votes")
    fitted = TableModel.fit(votes, LABELS, estimator=SABFGS(), columns=columns)
    write_browse_page(votes, fitted, str(tmp_path / "page.html"))
    given = data_of(tmp_path / "page.html")["series"][0]
    assert given["name"] == "given"
    counts = votes[LABELS].to_numpy()
    assert np.allclose(
        degrees_of(given["degrees"], len(votes)),
        counts / counts.sum(axis=1, keepdims=True),
        atol=5.1e-5,
    )


def test_rows_without_a_positive_label_have_no_recovery(table, model, tmp_path):
    table = table.copy()
    table.loc[4, LABELS] = 0
    table[LABELS] = table[LABELS].astype(float)
    table.loc[7, LABELS] = np.nan
    write_browse_page(table, model, str(tmp_path / "page.html"))
    data = data_of(tmp_path / "page.html")
    D = unpack(data["series"][0]["degrees"], "<u2", (len(table), 3))
    assert np.flatnonzero((D == 65535).all(axis=1)).tolist() == [4, 7]
    assert unpack(data["given"], np.uint8, (-1, 3))[7].tolist() == [2, 2, 2]
    scores = {score["name"]: unpack(score["values"], "<f4") for score in data["scores"]}
    assert np.isfinite(scores["entropy"]).all()
    assert np.flatnonzero(np.isnan(scores["disagreement"])).tolist() == [7]


@pytest.fixture(scope="module")
def votes():
    return make_votes(60)


@pytest.fixture(scope="module")
def votes_model(votes):
    columns = ColumnOptions(id="key", kind="votes")
    return TableModel.fit(votes, LABELS, estimator=CountLDL(gamma=1.0), columns=columns)


@pytest.fixture(scope="module")
def votes_page(votes, votes_model, tmp_path_factory):
    path = tmp_path_factory.mktemp("votes") / "page.html"
    write_browse_page(votes, votes_model, str(path))
    return path


def test_page_of_counts_has_votes_and_recovered_degrees(votes_page, votes, votes_model):
    data, n = data_of(votes_page), len(votes)
    counts = votes[LABELS].to_numpy(dtype=float)
    X = votes_model.transform(votes)
    estimator = votes_model.estimator
    assert np.array_equal(unpack(data["counts"], "<f8", (n, 3)), counts)
    given = unpack(data["given"], np.uint8, (n, 3))
    unvoted = np.isin(np.arange(n), [4, 7])
    assert np.array_equal(given, np.where(unvoted[:, None], 2, counts > 0))
    recovered, predicted = data["series"]
    voted = ~unvoted
    enhanced = estimator.enhance(X[voted], counts[voted])
    for key, expected in {
        "degrees": enhanced,
        "low": estimator.enhance_interval(X[voted], counts[voted])[0],
        "high": estimator.enhance_interval(X[voted], counts[voted])[1],
    }.items():
        found = unpack(recovered[key], "<u2", (n, 3))
        assert np.allclose(found[voted] / 1e4, expected, atol=5.1e-5)
        assert (found[unvoted] == 65535).all()
    assert np.allclose(
        degrees_of(predicted["high"], n), estimator.predict_interval(X)[1], atol=6e-5
    )
    scores = {score["name"]: unpack(score["values"], "<f4") for score in data["scores"]}
    assert list(scores) == ["entropy", "interval width", "disagreement", "votes", "gain of a vote"]
    assert np.array_equal(scores["votes"], counts.sum(axis=1))
    assert np.allclose(scores["gain of a vote"], estimator.vote_gain(X, counts))
    assert np.allclose(scores["entropy"][voted], entropy(enhanced.T), atol=1e-6)
    P = estimator.predict(X)
    of_each_vote = [-np.log(np.repeat(P[i], counts[i].astype(int))) for i in np.flatnonzero(voted)]
    assert np.allclose(scores["disagreement"][voted], list(map(np.mean, of_each_vote)), atol=1e-6)
    assert np.isnan(scores["disagreement"][unvoted]).all()


def test_overview_of_counts(votes, votes_model, tmp_path):
    page = tmp_path / "page.html"
    written = write_browse_page(votes, votes_model, str(page))
    assert written.messages == ["2 of 60 rows have no votes: their degrees are predicted."]
    text = page.read_text(encoding="utf-8")
    total = votes[LABELS].to_numpy().sum()
    assert f"60 rows, 3 labels, {total} votes." in text
    sea = votes["sea"].sum()
    assert f'<td>{sea} <span class="std">{sea / total:.0%}</span></td>' in text


def test_overview_of_weighted_votes(votes, votes_model, tmp_path):
    page = tmp_path / "page.html"
    weighted = votes.assign(**{name: 0.37 * votes[name] for name in LABELS})
    write_browse_page(weighted, votes_model, str(page))
    text = page.read_text(encoding="utf-8")
    total = 0.37 * votes[LABELS].to_numpy().sum()
    assert f"60 rows, 3 labels, {total:.10g} votes." in text
    assert f"<td>{0.37 * votes['sea'].sum():.10g} <span" in text


@pytest.mark.browser
def test_numbers_of_weighted_and_many_votes_are_short(browser, votes, votes_model, tmp_path):
    page = tmp_path / "page.html"
    weighted = votes[:2].astype(dict.fromkeys(LABELS, float))
    weighted[LABELS] = [[0.37, 1.11, 0.0], [1234567.0, 1.0, 2.0]]
    write_browse_page(weighted, votes_model, str(page))
    shown = browser.new_page()
    shown.goto(page.as_uri())
    lines = shown.locator(".line").all_inner_texts()
    shown.close()
    marks = [line.split()[0] for line in lines]
    assert {"1.48", "0.37", "1.11", "1.23M"} <= set(marks)


def test_counts_without_label_columns_or_votes(votes, votes_model, tmp_path):
    page = tmp_path / "page.html"
    write_browse_page(votes.drop(columns=LABELS), votes_model, str(page))
    data = data_of(page)
    assert data["counts"] is None
    assert [each["name"] for each in data["series"]] == ["predicted"]
    assert data["series"][0]["low"] is not None
    write_browse_page(votes.assign(**dict.fromkeys(LABELS, 0)), votes_model, str(page))
    data = data_of(page)
    assert [each["name"] for each in data["series"]] == ["predicted"]
    with pytest.raises(ParameterError, match="raters"):
        write_browse_page(votes, votes_model, str(page), raters=3)


def test_invalid_arguments_raise(table, model, tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match="interval"):
        write_browse_page(table, model, str(tmp_path / "p.html"), interval=2.0)
    with pytest.raises(TableError, match="no rows"):
        write_browse_page(table[:0], model, str(tmp_path / "p.html"))
    with pytest.raises(TableError, match="sea"):
        write_browse_page(table.drop(columns="sea"), model, str(tmp_path / "p.html"))
    monkeypatch.setattr(browse, "MAX_ROWS", 59)
    with pytest.raises(TableError, match="at most 59"):
        write_browse_page(table, model, str(tmp_path / "p.html"))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileError, match="folder"):
        write_browse_page(table, model, str(tmp_path))


# In the browser


def visible_names(page):
    rows = page.locator("#rows .row")
    return [row.locator(".name").inner_text() for row in rows.all()]


def wait_for_status(page, start):
    page.locator("#status", has_text=re.compile(f"^{start}")).wait_for()


def score(page_file, name):
    scores = {each["name"]: each for each in data_of(page_file)["scores"]}
    return unpack(scores[name]["values"], "<f4")


@pytest.mark.browser
def test_search_and_filter(open_page, page_file, table):
    page = open_page(page_file)
    assert page.locator("#status").inner_text() == "60 of 60 rows, 0 selected"
    page.fill("#search", "R17 one")
    wait_for_status(page, "1 of")
    assert visible_names(page) == ["r17"]
    page.fill("#search", "no such text")
    page.locator("#none").wait_for()
    page.fill("#search", "")
    wait_for_status(page, "60 of")
    page.select_option("#label", label="sea")
    assert page.locator("#status").inner_text().startswith(f"{int(table['sea'].sum())} of 60")
    page.select_option("#state", label="negative")
    assert (
        page.locator("#status").inner_text().startswith(f"{int((table['sea'] == 0).sum())} of 60")
    )
    assert visible_names(page)[0] == table.loc[table["sea"] == 0, "key"].iloc[0]
    page.select_option("#label", label="all")
    assert page.locator("#state").is_disabled()


@pytest.mark.browser
@pytest.mark.parametrize("name", ["entropy", "interval width", "disagreement", "distance"])
def test_sorting(open_page, page_file, table, name):
    page = open_page(page_file)
    page.select_option("#sort", label=name)
    order = np.argsort(-score(page_file, name), kind="stable")
    keys = [table["key"].iloc[row] for row in order]
    assert visible_names(page) == keys[: len(visible_names(page))]
    page.click("#order")
    values = dict(zip(table["key"], score(page_file, name), strict=True))
    visible_scores = [values[key] for key in visible_names(page)]
    assert visible_scores == sorted(values.values())[: len(visible_scores)]


@pytest.mark.browser
def test_keyboard(open_page, page_file):
    page = open_page(page_file)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    reached = []
    for _ in range(9):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
    assert reached == [
        "label",
        "sort",
        "order",
        "select-shown",
        "clear",
        "export",
        "rows",
        reached[7],
        reached[8],
    ]
    page.focus("#rows")
    for key in ("ArrowDown", "ArrowDown", "Space", "ArrowUp", "Space"):
        page.keyboard.press(key)
    assert "2 selected" in page.locator("#status").inner_text()
    assert page.locator("[aria-selected=true] .name").all_inner_texts() == ["r1", "r2"]
    page.keyboard.press("End")
    active = page.locator("#" + page.locator("#rows").get_attribute("aria-activedescendant"))
    assert active.locator(".name").inner_text() == "r59"
    box = active.bounding_box()
    assert box["y"] + box["height"] <= 901
    page.keyboard.press("Enter")
    assert page.locator("#detail-title").inner_text() == "r59"
    page.keyboard.press("Escape")
    assert not page.locator("#detail").is_visible()
    page.keyboard.press("Home")
    assert page.locator(".row.active .name").inner_text() == "r0"
    top = page.locator(".row.active").bounding_box()["y"]
    assert (
        top
        >= page.locator(".tools").bounding_box()["y"]
        + page.locator(".tools").bounding_box()["height"]
        - 1
    )


@pytest.mark.browser
def test_selection_and_export(open_page, page_file, table, model, tmp_path):
    page = open_page(page_file)
    page.locator(".row .mark").nth(3).click()
    page.locator(".row .mark").nth(1).click()
    with page.expect_download() as download:
        page.click("#export")
    download.value.save_as(tmp_path / "rows.csv")
    found = pd.read_csv(tmp_path / "rows.csv")
    assert found["key"].tolist() == ["r1", "r3"]
    assert found["note"].tolist() == table["note"].iloc[[1, 3]].tolist()
    assert np.array_equal(found[LABELS], table[LABELS].iloc[[1, 3]])
    P = model.predict(table.iloc[[1, 3]]).to_numpy()
    assert np.allclose(found[[f"{name}_predicted" for name in LABELS]], P, atol=5.1e-5)
    page.click("#clear")
    page.select_option("#label", label="sea")
    page.click("#select-shown")
    assert f"{int(table['sea'].sum())} selected" in page.locator("#status").inner_text()


@pytest.mark.browser
def test_malicious_names_are_escaped(open_page, tmp_path):
    table = make_table(40).rename(columns=dict(zip(LABELS, MALICIOUS, strict=True)))
    name = '"><svg onload=window.pwned=1>,\n"quoted"'
    table[name] = [f'{text}, "{i}"' for i, text in enumerate(MALICIOUS * 13 + MALICIOUS[:1])]
    columns = ColumnOptions(id="key", numeric="height,wet", text=name, ignore="place")
    fitted = TableModel.fit(table, MALICIOUS, estimator=DLDL(**FAST), columns=columns)
    write_browse_page(table, fitted, str(tmp_path / "page.html"))
    page = open_page(tmp_path / "page.html")
    page.locator(".row .cells").first.click()
    page.keyboard.press("Escape")
    page.locator(".row .mark").nth(2).click()
    with page.expect_download() as download:
        page.click("#export")
    download.value.save_as(tmp_path / "rows.csv")
    with open(tmp_path / "rows.csv", newline="", encoding="utf-8") as file:
        head, row = csv.reader(file)
    assert row[1] == '{{ 7 * 7 }}, "2"'
    assert head[2:5] == MALICIOUS
    assert page.evaluate("window.pwned") is None
    texts = [
        "=1+1",
        "@x",
        "+1",
        "-1.5",
        "-x",
        " =1",
        "\t=1",
        "'=1",
        "＝1",
        "\ufeff-2+3",
        "-2e5 %",
        "a=b",
        "-1,5",
        "",
    ]
    assert page.evaluate("texts => texts.map(guarded)", texts) == [
        escape_formula(text) for text in texts
    ]
    csv_of_names = page.evaluate("() => { data.names[0] = '=cmd'; return csv([0]); }")
    assert csv_of_names.splitlines()[-1].startswith("'=cmd,")
    assert page.locator("img").count() == 0
    assert MALICIOUS[0] in page.locator("body").inner_text()


@pytest.mark.browser
def test_fifty_thousand_rows(open_page, table, model, tmp_path):
    many = table.iloc[np.arange(50_000) % len(table)].drop(columns=LABELS)
    many = many.assign(key=[f"k{i}" for i in range(len(many))])
    write_browse_page(many, model, str(tmp_path / "page.html"))
    page = open_page(tmp_path / "page.html")
    assert page.locator("#status").inner_text() == "50,000 of 50,000 rows, 0 selected"
    assert page.locator(".row").count() < 30
    page.focus("#rows")
    page.keyboard.press("End")
    assert page.locator(".row.active .name").inner_text() == "k49999"
    page.keyboard.press("ArrowUp")
    assert page.locator(".row.active .name").inner_text() == "k49998"
    page.fill("#search", "k31415")
    wait_for_status(page, "1 of")
    assert visible_names(page) == ["k31415"]
    page.fill("#search", "")
    wait_for_status(page, "50,000 of")
    page.select_option("#sort", label="entropy")
    order = np.argsort(-score(tmp_path / "page.html", "entropy"), kind="stable")
    assert visible_names(page)[:3] == [f"k{row}" for row in order[:3]]
    page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight / 2)")
    page.evaluate("new Promise(requestAnimationFrame)")
    assert 20_000 < int(page.locator(".row").first.get_attribute("data-place")) < 30_000
    # On a phone the list exceeds the maximum height of browsers: one scrolled pixel is more than
    # one list pixel.
    page = open_page(tmp_path / "page.html", width=390, height=844)
    page.focus("#rows")
    for key, name in (("End", "k49999"), ("ArrowUp", "k49998"), ("Home", "k0"), ("PageDown", None)):
        page.keyboard.press(key)
        row = page.locator(".row.active")
        assert name in (None, row.locator(".name").inner_text())
        box, tools = row.bounding_box(), page.locator(".tools").bounding_box()
        assert tools["y"] + tools["height"] - 1 <= box["y"] <= 845 - box["height"]


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_horizontal_scrolling_on_a_phone(open_page, page_file, scheme):
    page = open_page(page_file, width=390, height=844, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator(".row .cells").first.click()
    assert page.locator("#detail").is_visible()
    page.click("#close")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.browser
def test_page_is_accessible(browser, page_file):
    assert violations_of_file(browser, page_file) == []


@pytest.mark.browser
def test_votes_in_the_browser(open_page, votes_page, votes, votes_model, tmp_path):
    page = open_page(votes_page)
    rows = page.locator("#rows .row")
    n_votes = votes[LABELS].sum(axis=1)
    assert rows.nth(0).locator(".head").inner_text().startswith(f"{n_votes[0]} vote")
    assert rows.nth(4).locator(".head").inner_text().startswith("no votes")
    shares = votes.loc[0, LABELS] / n_votes[0]
    widths = (
        rows.nth(0).locator(".share[style]").evaluate_all("all => all.map((i) => i.style.width)")
    )
    expected = shares[shares > 0].to_numpy(dtype=float)
    assert np.allclose([float(width[:-1]) / 100 for width in widths], expected)
    page.select_option("#label", label="sea")
    assert page.locator("#status").inner_text().startswith(f"{(votes['sea'] > 0).sum()} of 60")
    page.select_option("#state", label="without votes")
    assert visible_names(page) == ["r4", "r7"]
    page.locator(".row .mark").first.click()
    page.select_option("#label", label="all")
    page.locator(".row .mark").first.click()
    with page.expect_download() as download:
        page.click("#export")
    download.value.save_as(tmp_path / "rows.csv")
    found = pd.read_csv(tmp_path / "rows.csv")
    assert found["key"].tolist() == ["r0", "r4"]
    assert np.array_equal(found[LABELS], votes.loc[[0, 4], LABELS])
    assert np.allclose(found.loc[0, [f"{name}_share" for name in LABELS]].astype(float), shares)
    assert found.loc[1, [f"{name}_share" for name in LABELS]].isna().all()
    assert found["votes"].tolist() == [n_votes[0], 0]
    D = votes_model.estimator.enhance(votes_model.transform(votes[:1]), votes.loc[:0, LABELS])
    assert np.allclose(
        found.loc[0, [f"{name}_recovered" for name in LABELS]].astype(float), D, atol=1e-4
    )
    page.locator(".row .cells").first.click()
    assert page.locator("#detail th", has_text="votes (share)").is_visible()


@pytest.mark.browser
def test_page_of_counts_is_accessible(browser, votes_page):
    assert violations_of_file(browser, votes_page) == []
