"""The commands that help to annotate: browse, explain, ask, suggest."""

import json


def test_browse(run, workspace, model):
    done = run("browse", "data.csv", "-m", model, "--keep", "place,wet", "-o", "page.html")
    assert (done.code, done.out) == (0, "80 rows: page.html\n")
    page = (workspace / "page.html").read_text(encoding="utf-8")
    assert "<h1>data.csv</h1>" in page
    assert '"columns":["place","wet"]' in page
    # The interval is also a field of a group of which browse takes other fields.
    refused = run("browse", "data.csv", "-m", model, "--interval", "2", "-o", "page.html")
    assert (refused.code, "interval" in refused.message) == (2, True)
    assert ".html" in run("browse", "data.csv", "-m", model, "-o", "data.csv").message
    assert "no-such" in run("browse", "no-such.csv", "-m", model, "-o", "p.html").message
    refused = run("browse", "data.csv", "-m", model, "-o", "page.html", "--no-clobber")
    assert (refused.code, "page.html" in refused.message) == (2, True)


def test_explain(run, workspace, model):
    done = run("explain", "data.csv", "-m", model, "--row", "17", "--top", "2")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split() == ["Row", "17:", "contribution", "of", "sky", "mountain", "sea"]
    assert [line.split()[0] for line in lines[3:5]] == ["(1", "sum"]
    found = json.loads(run("explain", "data.csv", "-m", model, "--row", "17", "--json").out)
    total = sum(part["sea"] for part in found["contributions"])
    assert f"{total:+.3f}" == lines[4].split()[-1]
    missing = run("explain", "data.csv", "-m", model, "--row", "82")
    assert (missing.code, "no row 82" in missing.message) == (2, True)


def test_ask(run, workspace, model):
    done = run("ask", "data.csv", "-m", model, "-n", "5", "-o", "ask.csv")
    assert done.code == 0, done.err
    assert "look wrong" in done.message
    lines = (workspace / "ask.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "key,height,wet,place,rank,expected_error,suspicious"
    assert 6 <= len(lines) <= 11


def test_suggest(run, workspace, model):
    done = run(
        "suggest",
        "data.csv",
        "-m",
        model,
        "--for",
        "argilla",
        "--question",
        "view",
        "-o",
        "records.json",
    )
    assert (done.code, done.out) == (0, "80 rows: records.json\n")
    assert len(json.loads((workspace / "records.json").read_text(encoding="utf-8"))) == 80
    assert (
        "label-studio"
        in run("suggest", "data.csv", "-m", model, "--for", "excel", "-o", "x.json").message
    )
