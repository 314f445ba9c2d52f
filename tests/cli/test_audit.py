"""`ldlearn audit` names each finding of the library."""

import json

from ldlearn.paper import audit_paper


def test_names_each_finding(run):
    result = run("audit")
    assert (result.code, result.err) == (0, "")
    for finding in audit_paper():
        assert f"{finding.id} ({finding.severity})" in result.out
    assert f"{len(audit_paper())} findings." in result.out


def test_counts_one_finding(run):
    assert run("audit", "--only", "text").out.endswith("\n1 finding.\n")
    assert run("audit", "--only", "copies").out == "0 findings.\n"


def test_json_and_only(run):
    result = run("audit", "--json", "--only", "critical-difference,first-places/2")
    found = json.loads(result.out)["findings"]
    assert [finding["id"] for finding in found] == ["first-places/2", "critical-difference/Bonferroni-Dunn"]
    assert set(found[0]) == {"id", "claim", "truth", "how", "severity", "details"}
    assert result.code == 0


def test_an_unknown_topic(run):
    result = run("audit", "--only", "rank")
    assert result.code == 2
    assert "did you mean ranks?" in result.message
