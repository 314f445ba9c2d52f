"""The page "A few votes per row": from a table in long format to degrees, and its picture."""

from __future__ import annotations

import re
from pathlib import Path

import fork_server
import numpy as np
import pandas as pd
import pytest

from ldlearn.metrics import intersection

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "few_votes.md"
if not PAGE.exists() or not (ROOT / "tools").is_dir():
    pytest.skip("the page is not part of this copy of the project", allow_module_level=True)
NUMBER = re.compile(r'(?<=[ "])-?\d+\.\d+')


@pytest.fixture(scope="module")
def drawing():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        import draw_few_votes

        yield draw_few_votes


@pytest.fixture(scope="module")
def session(drawing, tmp_path_factory):
    """The page after all of its blocks have run."""
    import page_runner

    folder = tmp_path_factory.mktemp("few_votes") / "page"
    folder.mkdir()
    own_tools = page_runner._own_tools

    def quick_tools(place: Path) -> Path:
        fork_server.write_script(own_tools(place) / "ldlearn")
        return place

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_runner, "_own_tools", quick_tools)
        done = page_runner.start(PAGE, folder)
        for block in page_runner.find_blocks(PAGE.read_text(encoding="utf-8")):
            if block.is_run:
                done.run(block)
    return done


def test_all_files_of_the_path_exist(session):
    made = {path.name for path in session.folder.iterdir() if path.stat().st_size > 0}
    assert made >= {"ratings.csv", "votes.csv", "votes.ldl", "degrees.csv", "votes.html"}


def test_long_table_is_counted_completely(session):
    """Three votes of each text, and only labels that the text got from one of its raters."""
    page = session.namespace
    assert (page["three"].sum(axis=1) == 3).all()
    assert (page["further"] >= 0).all()
    assert len(pd.read_csv(session.folder / "votes.csv")) == 600


def test_recovered_degrees_are_nearest_to_the_shares_of_all_votes(session):
    scores = session.namespace["scores"]
    best = scores["recovered"]
    for name in ("raw shares", "Laplace", "predicted"):
        assert best["intersection"] > scores[name]["intersection"] + 0.03, name
        assert best["KL"] < scores[name]["KL"] - 0.03, name
        assert best["cross-entropy"] < scores[name]["cross-entropy"] - 0.03, name


def test_commands_and_python_give_the_same_degrees(session):
    page = session.namespace
    written = pd.read_csv(session.folder / "degrees.csv")[page["labels"]]
    rounding = 0.002  # three decimals, and rows that sum to 1
    np.testing.assert_allclose(written, page["degrees"], atol=rounding)
    assert (page["lower"] <= page["degrees"] + rounding).all()
    assert (page["degrees"] <= page["upper"] + rounding).all()


def test_recovered_degrees_are_the_best_targets_of_learners(session):
    page = session.namespace
    for learner in ("SABFGS", "MLPLDL"):
        found = {
            target: intersection(page["truth"], page["predictions"][f"{learner} on {target}"])
            for target in ("most frequent label", "raw shares", "recovered degrees")
        }
        assert max(found, key=found.get) == "recovered degrees", found


def test_typical_rows_are_quartiles(session):
    page = session.namespace
    quartiles = np.quantile(page["improvement"], [0.25, 0.5, 0.75])
    np.testing.assert_allclose(page["improvement"][page["typical"]], quartiles, atol=0.005)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_picture_shows_the_numbers_of_the_page(mode, drawing, session):
    name = f"few_votes-{mode}.svg"
    stored = (drawing.TARGET / name).read_text(encoding="utf-8")
    drawn = drawing.pictures(session.namespace)[name]
    assert NUMBER.sub("#", stored) == NUMBER.sub("#", drawn), "run python tools/draw_few_votes.py"
    places = [np.array(NUMBER.findall(text), dtype=float) for text in (stored, drawn)]
    np.testing.assert_allclose(*places, atol=0.5)
