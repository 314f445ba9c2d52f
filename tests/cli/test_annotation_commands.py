"""The commands that help to annotate: browse."""


def test_browse(run, here, model):
    done = run("browse", "data.csv", "-m", model, "--keep", "place,wet", "-o", "page.html")
    assert (done.code, done.out) == (0, "80 rows: page.html\n")
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "<h1>data.csv</h1>" in page
    assert '"columns":["place","wet"]' in page
    assert ".html" in run("browse", "data.csv", "-m", model, "-o", "data.csv").message
    assert "no-such" in run("browse", "no-such.csv", "-m", model, "-o", "p.html").message
    refused = run("browse", "data.csv", "-m", model, "-o", "page.html", "--no-clobber")
    assert (refused.code, "page.html" in refused.message) == (2, True)
