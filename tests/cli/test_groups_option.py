"""The option --groups, and what commands print about repeated rows."""

from pathlib import Path

import numpy as np
import pandas as pd

LABELS = ["sky", "sea", "sun"]


def write_pairs(name: str) -> None:
    """A table of 100 rows, each of them twice; pairs share a unit."""
    rng = np.random.default_rng(0)
    columns = dict(zip("abc", rng.normal(size=(3, 100)), strict=True))
    Y = (rng.random((100, 3)) < 0.4).astype(int)
    Y[:, 0] |= ~Y.any(axis=1)
    once = (
        pd.DataFrame(columns)
        .join(pd.DataFrame(Y, columns=LABELS))
        .assign(unit=[f"u{i}" for i in range(100)])
    )
    pd.concat([once, once]).to_csv(name, index=False)


def test_commands_take_groups(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    write_pairs("t.csv")
    common = ("-l", "sky:sun", "--groups", "unit")
    fitted = run("fit", "t.csv", *common, "--set", "gamma=0.01", "--set", "beta=0.1", "-o", "m.ldl")
    assert "100 of 200 rows have the same features" in fitted.out
    assert "100" in next(
        line for line in run("inspect", "m.ldl").out.splitlines() if "repeated rows" in line
    )
    assert (
        "look wrong" in run("ask", "t.csv", "-m", "m.ldl", "--groups", "unit", "-o", "ask.csv").err
    )
    run("inspect", "m.ldl", "--html", "card.html")
    assert "equal rows were held out together" in Path("card.html").read_text(encoding="utf-8")
    refused = run("fit", "t.csv", *common, "--scheduler", "tcp://nowhere:1", "-o", "c.ldl")
    assert refused.code == 2
    assert "no groups" in refused.err
