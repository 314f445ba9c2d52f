"""A small table, a model fitted on it, and the command line run in this process."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import dataclass

import pytest
from example_tables import LABELS, make_table

from ldlearn.cli.main import main
from ldlearn.reporting import write_report


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """What went to standard error, as one line without the boxes that typer draws."""
        return re.sub(r"\s+", " ", re.sub(r"[╭╮╰╯│─]", " ", self.err)).strip()


@pytest.fixture
def run(capfd, monkeypatch):
    """Run a command line in this process: ``run("fit", "data.csv", ..., stdin=b"...")``."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*words: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        sys.stdout.flush()
        found = capfd.readouterr()
        code = ended.value.code
        return Result(0 if code is None else int(code), found.out, found.err)

    return call


@pytest.fixture(autouse=True)
def one_format(monkeypatch):
    """Reports have their figures in one format: each draws all of them again, and tests of reports try all."""
    monkeypatch.setitem(write_report.__kwdefaults__, "formats", ["svg"])


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder that commands run in, with the table as data.csv."""
    monkeypatch.chdir(tmp_path)
    make_table().to_csv("data.csv", index=False)
    return tmp_path


@pytest.fixture(scope="session")
def model_bytes(tmp_path_factory):
    """The bytes of a model fitted on the table."""
    folder = tmp_path_factory.mktemp("model")
    make_table().to_csv(folder / "data.csv", index=False)
    words = ["fit", f"{folder}/data.csv", "-l", ",".join(LABELS), "--id", "key", "-o", f"{folder}/model.ldl"]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--intervals"])
    assert ended.value.code == 0
    return (folder / "model.ldl").read_bytes()


@pytest.fixture
def model(here, model_bytes):
    """The model as model.ldl in the current folder."""
    (here / "model.ldl").write_bytes(model_bytes)
    return "model.ldl"
