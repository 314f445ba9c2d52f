"""The page of commands describes every command."""

import re
from pathlib import Path

import pytest

from ldlearn.cli.app import COMMANDS, OWN_TABLES, STUDY

DOCS = Path(__file__).resolve().parents[2] / "docs"
if not DOCS.is_dir():
    pytest.skip("the documents are not part of this copy of the project", allow_module_level=True)
PAGE = (DOCS / "guide" / "commands.md").read_text(encoding="utf-8")
NAMES = [line.name for line in COMMANDS]


def test_rows_are_commands_in_the_order_of_the_help():
    rows = re.findall(
        r"^\| \[`([\w-]+)`\]\(#([\w-]+)\) \| (.+?) \| (.+?) \|$", PAGE, flags=re.MULTILINE
    )
    named = [name for name, *_ in rows]
    assert {"fit", "predict", "run"} < set(named)
    assert named == [anchor for _, anchor, *_ in rows] == [name for name in NAMES if name in named]


def test_every_command_has_a_section(listings):
    assert PAGE.count("```{listing} commands\n") == 1
    sections = re.findall(
        r"^## ([\w-]+)\n\n(.+)\n\n\| argument or option", listings.commands(), flags=re.MULTILINE
    )
    assert sections == [(line.name, line.help) for line in COMMANDS]


def test_options_come_from_the_commands(listings):
    listed = {name: listings.command(name) for name in NAMES}
    assert "| `--labels, -l COLS` | Labels: a,b or emo_* or x1:x9 or l.npy. |" in listed["fit"]
    assert "| `DATA` |" in listed["predict"]
    assert "| `--round N` |" in listed["predict"]
    assert "| `fetch NAME` |" in listed["datasets"]
    assert all(
        line.count("|") - line.count("\\|") == 3
        for text in listed.values()
        for line in text.splitlines()
    )


def test_commands_for_tables_come_first_in_the_help():
    panels = [line.panel for line in COMMANDS]
    assert panels == sorted(panels, key=[OWN_TABLES, STUDY].index)
