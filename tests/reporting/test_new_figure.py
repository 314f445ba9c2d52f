"""A new figure needs one file and one line, as described in CONTRIBUTING.md."""

from added_to_package import add_to_package
from synthetic_records import make_records

from ldlearn import reporting
from ldlearn.reporting import Display

FILE = '''
"""Repeats of every method."""

from ldlearn.reporting.display import Display, Panels
from ldlearn.evaluation import Results


class RepeatsDisplay(Display):
    """Number of finished repeats of every method."""

    _panels = Panels(1, width=4, height=3)

    def __init__(self, counts):
        self.counts = counts

    @classmethod
    def from_records(cls, records, dataset, *, ax=None):
        results = Results.from_records(records)
        counts = {name: len(results.finished_records(dataset, name)) for name in results.methods}
        return cls(counts).plot(ax=ax)

    def _draw(self, ax):
        self.bars_ = ax.barh(list(self.counts), list(self.counts.values()))
'''


def test_new_figure_needs_one_file_and_one_line(tmp_path, monkeypatch):
    display = add_to_package(monkeypatch, tmp_path, reporting, "repeats", FILE, "RepeatsDisplay")
    assert "RepeatsDisplay" in reporting.__all__
    picture = display.from_records(make_records(repeats=2), "yeast")
    assert isinstance(picture, Display)
    assert [bar.get_width() for bar in picture.bars_] == [2] * 11
    assert picture.save(tmp_path / "repeats.svg").read_text().startswith("<?xml")
