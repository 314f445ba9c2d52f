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
        """Standard error as one line, without the boxes that typer draws."""
        return re.sub(r"\s+", " ", re.sub(r"[╭╮╰╯│─]", " ", self.err)).strip()


@pytest.fixture
def run(capfd, monkeypatch):
    """Run a command line in this process: ``run("fit", "data.csv", ..., stdin=b"...")``."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as exit_info:
            main([str(argument) for argument in arguments])
        sys.stdout.flush()
        captured = capfd.readouterr()
        code = exit_info.value.code
        return Result(0 if code is None else int(code), captured.out, captured.err)

    return call


@pytest.fixture(autouse=True)
def single_figure_format(monkeypatch):
    """Write report figures in one format only; the tests of reports cover all formats."""
    monkeypatch.setitem(write_report.__kwdefaults__, "formats", ["svg"])


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """The current folder: a temporary one that contains the table as data.csv."""
    monkeypatch.chdir(tmp_path)
    make_table().to_csv("data.csv", index=False)
    return tmp_path


@pytest.fixture(scope="session")
def model_bytes(tmp_path_factory):
    """The bytes of a model fitted on the table."""
    folder = tmp_path_factory.mktemp("model")
    make_table().to_csv(folder / "data.csv", index=False)
    arguments = [
        "fit",
        f"{folder}/data.csv",
        "-l",
        ",".join(LABELS),
        "--id",
        "key",
        "-o",
        f"{folder}/model.ldl",
    ]
    with pytest.raises(SystemExit) as exit_info:
        main([*arguments, "--intervals"])
    assert exit_info.value.code == 0
    return (folder / "model.ldl").read_bytes()


@pytest.fixture
def model(workspace, model_bytes):
    """The model as model.ldl in the current folder."""
    (workspace / "model.ldl").write_bytes(model_bytes)
    return "model.ldl"
