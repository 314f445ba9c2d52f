import json

import pytest

from ldlearn.experiments import RunFolderError, read_records
from ldlearn.experiments.records import RunFolder, encode


def record(cell, **more):
    return {"cell": cell, "status": "ok", **more}


def test_records_are_read_back_and_the_last_of_a_cell_counts(tmp_path):
    with RunFolder(tmp_path / "new" / "run") as folder:
        folder.append(record("a", value=1))
        folder.append(record("b", value=float("nan"), text="Infinity ü\n"))
        folder.append(record("a", value=2))
    found = read_records(tmp_path / "new" / "run")
    assert found == [record("a", value=2), record("b", value=None, text="Infinity ü\n")]
    assert len(read_records(tmp_path / "new" / "run", history=True)) == 3


def test_numbers_keep_every_digit():
    value = 0.1 + 0.2
    assert json.loads(encode(record("a", value=value)))["value"] == value


@pytest.mark.parametrize("kept", range(0, 40, 3))
def test_a_line_torn_at_any_byte_is_ignored_and_cut_before_writing(tmp_path, kept):
    with RunFolder(tmp_path) as folder:
        folder.append(record("a"))
    torn = encode(record("b", text="x" * 30))[:kept]
    path = tmp_path / "records.jsonl"
    path.write_bytes(path.read_bytes() + torn)
    assert read_records(tmp_path) == [record("a")]
    with RunFolder(tmp_path) as folder:
        folder.append(record("c"))
    assert path.read_bytes() == encode(record("a")) + encode(record("c"))


def test_a_whole_line_that_is_no_record_is_named(tmp_path):
    with RunFolder(tmp_path) as folder:
        folder.append(record("a"))
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"garbage\n" + path.read_bytes())
    with pytest.raises(RunFolderError, match="Line 1 of"):
        read_records(tmp_path)


def test_a_folder_without_records_is_one_sentence(tmp_path):
    with pytest.raises(RunFolderError, match="There are no records in"):
        read_records(tmp_path)


def test_two_runs_do_not_share_a_folder_and_the_second_is_told_who_has_it(tmp_path):
    with RunFolder(tmp_path) as folder:
        folder.append(record("a"))
        before = (tmp_path / "records.jsonl").read_bytes()
        with (
            pytest.raises(RunFolderError, match=r"Another run is writing to .* \(process \d+ on .* since "),
            RunFolder(tmp_path),
        ):
            pass
        assert (tmp_path / "records.jsonl").read_bytes() == before
    with RunFolder(tmp_path):  # the lock ends with its holder
        pass
