"""`python -m research.paper` prints the findings of the audit."""

import json

import pytest

from research.paper import audit_paper
from research.paper.__main__ import main


@pytest.fixture
def run(capsys):
    def run(*arguments):
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_names_each_finding(run):
    code, out, err = run()
    assert (code, err) == (0, "")
    for finding in audit_paper():
        assert f"{finding.id} ({finding.severity})" in out
    assert f"{len(audit_paper())} findings." in out


def test_counts_one_finding(run):
    assert run("--only", "text")[1].endswith("\n1 finding.\n")
    assert run("--only", "copies")[1] == "0 findings.\n"


def test_json_and_only(run):
    code, out, _ = run("--json", "--only", "critical-difference,first-places/2")
    found = json.loads(out)["findings"]
    assert [finding["id"] for finding in found] == [
        "first-places/2",
        "critical-difference/Bonferroni-Dunn",
    ]
    assert set(found[0]) == {"id", "claim", "truth", "how", "severity", "details"}
    assert code == 0


def test_unknown_topic_is_an_error(run):
    code, _, err = run("--only", "rank")
    assert code == 2
    assert "did you mean ranks?" in err
