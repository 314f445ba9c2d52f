"""No small file of any format takes much memory or time before it is refused with one sentence."""

import json
import os
import subprocess
import sys
from pathlib import Path

import hostile_tables
import pytest

from ldlearn.tables.formats import _FORMAT_BY_ENDING

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="reads the peak of a process from /proc"
)
MAX_FILE_BYTES = 10_000_000
# A process that has imported everything takes 250 MB, and 500 MB is the limit.
MAX_MEGABYTES, MAX_SECONDS = 250, 10


def run(folder, names):
    for name in names:
        hostile_tables.CASES[name](folder / name)
        assert (folder / name).stat().st_size < MAX_FILE_BYTES, name
    done = subprocess.run(
        [sys.executable, hostile_tables.__file__, folder, *names],
        stdout=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [result["name"] for result in found] == list(names), done.returncode
    return found


def check(result):
    assert result["code"] in (0, 2), result
    assert result["peak"] < MAX_MEGABYTES, result
    assert result["cpu"] < MAX_SECONDS, result
    assert "Traceback" not in result["said"]
    if result["code"] == 2:
        assert result["said"].startswith("ldlearn: "), result
        assert result["said"].count("\n") == 1, result


def test_small_files_are_refused_within_limits(tmp_path):
    for result in run(tmp_path, hostile_tables.DEFAULT):
        check(result)
        assert result["code"] == 2, result
        assert "limit" in result["said"] or result["name"] == "empty_end.csv", result


@pytest.mark.skipif(
    not os.environ.get("LDLEARN_FUZZ"), reason="takes minutes; LDLEARN_FUZZ=1 runs it"
)
@pytest.mark.parametrize("name", sorted({*hostile_tables.CASES} - {*hostile_tables.DEFAULT}))
def test_more_small_files_are_refused_within_limits(tmp_path, name):
    check(*run(tmp_path, [name]))


def test_every_format_has_a_hostile_file():
    endings = {Path(name.removesuffix(".gz")).suffix[1:] for name in hostile_tables.CASES}
    others = {"tsv", "libsvm", "svmlight"}  # read as csv and svm
    assert endings | others == {*_FORMAT_BY_ENDING}
