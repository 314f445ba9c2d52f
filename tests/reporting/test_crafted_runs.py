"""Run folders of others: damaged or crafted, they end with a report or with one sentence."""

import gzip
import json
import lzma
import os
import shutil
from dataclasses import fields
from functools import partial

import pytest
from synthetic_records import make_records

from ldlearn.cli.main import main
from ldlearn.evaluation import Record, read_records
from ldlearn.exceptions import LDLearnError
from ldlearn.reporting import write_report

LABELS = {"one": ["a", "b", "c"], "two": ["x", "y"]}
METHODS = {
    "DLDL": ("joint", False, 0.10, True),
    "GLLE": ("enhancer", False, 0.40, False),
    "UniformLE": ("enhancer", True, 0.22, True),
}
DEEP = 100_000
LONG_NUMBER = "9" * 400
WRONG_VALUES = {
    "number": 7,
    "text": "a",
    "object": {"a": {"b": []}},
    "list": [[None, {}], "a"],
    "flag": True,
}
MAY_BE_NULL = {"learner", "seed", "threads", "peak_memory_mb", "started"}


@pytest.fixture(autouse=True)
def single_figure_format(monkeypatch):
    monkeypatch.setitem(write_report.__kwdefaults__, "formats", ["svg"])


@pytest.fixture(scope="module")
def lines():
    """Lines of a sound run, as dictionaries."""
    records = make_records(LABELS, METHODS, repeats=2, missing=())
    return [record.to_dict() for record in records]


def write_run(folder, lines, **files):
    content = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    (folder / "records.jsonl").write_text(content, encoding="utf-8")
    for name, text in files.items():
        path = folder / name.replace("_", ".")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def report(folder, capsys):
    """Exit code and message of `ldlearn report`."""
    with pytest.raises(SystemExit) as ended:
        main(["report", str(folder), "--output", str(folder / "out")])
    return ended.value.code, capsys.readouterr().err


def assert_refused(folder, capsys, *, match=""):
    code, message = report(folder, capsys)
    assert code == 2, message
    assert message.count("\n") == 1
    assert "bug of ldlearn" not in message
    assert len(message) < 600
    assert match in message
    assert not (folder / "out" / "report.html").exists()


def raw(line, old, new):
    """A line of JSON in which one text is replaced."""
    text = json.dumps(line)
    assert old in text
    return text.replace(old, new, 1) + "\n"


@pytest.mark.parametrize("field", [field.name for field in fields(Record)])
def test_wrong_types_are_refused_when_records_are_read(field, lines, tmp_path):
    """Of every field and kind of value: the record is refused with the name of the field, or read
    as it is."""
    fitting = {type(line[field]) for line in lines}
    for name, value in WRONG_VALUES.items():
        write_run(tmp_path, [*lines[:-1], lines[-1] | {field: value}])
        try:
            found, message = read_records(tmp_path)[-1], ""
        except LDLearnError as error:
            found, message = None, str(error)
        if found is None:
            assert field in message
            assert len(message) < 400
        else:
            assert found.to_dict()[field] == value
            assert (
                type(value) in fitting
                or field in MAY_BE_NULL
                or (name, fitting) == ("number", {float})
            )


CRAFTED_RECORDS = {
    "number of 400 digits": lambda line: raw(line, '"repeat": 1', f'"repeat": {LONG_NUMBER}'),
    "score of 400 digits": lambda line: line | {"recovery": {"chebyshev": int(LONG_NUMBER)}},
    "number of 5000 digits": lambda line: raw(line, '"repeat": 1', '"repeat": ' + "9" * 5000),
    "parameter of 400 digits": lambda line: line | {"params": {"beta": int(LONG_NUMBER)}},
    "infinite score": lambda line: raw(line | {"recovery": {"chebyshev": 0.25}}, "0.25", "1e999"),
    "score that is not a number": lambda line: raw(
        line | {"recovery": {"chebyshev": 0.25}}, "0.25", "NaN"
    ),
    "score Infinity": lambda line: raw(
        line | {"recovery": {"chebyshev": 0.25}}, "0.25", "-Infinity"
    ),
    "deep nesting": lambda line: "[" * DEEP + "]" * DEEP + "\n",
    "deep objects": lambda line: '{"a":' * DEEP + "1" + "}" * DEEP + "\n",
    "nested parameter": lambda line: line | {"params": {"a": json.loads("[" * 500 + "]" * 500)}},
    "lone surrogate in a name": lambda line: json.dumps(line | {"method": "\ud800"}) + "\n",
    "lone surrogate in a key": lambda line: json.dumps(line | {"params": {"\udfff": 1}}) + "\n",
    "lone surrogate in a warning": lambda line: (
        json.dumps(line | {"warnings": ["a\udc00b"]}) + "\n"
    ),
    "status of another program": lambda line: line | {"status": "running"},
    "no data set": lambda line: {key: value for key, value in line.items() if key != "dataset"},
    "list instead of an object": lambda line: [line],
    "text instead of an object": lambda line: '"record"\n',
    "cut line": lambda line: json.dumps(line)[:-30] + "\n",
    "null line": lambda line: "null\n",
    "budget that is a list": lambda line: line | {"selection": {"budget": [1]}},
    "grid of texts": lambda line: line | {"grid": ["a"]},
    "grid without parameters": lambda line: line | {"grid": [{"recovery": 1.0}]},
    "samples of other sizes": lambda line: line | {"samples": line["samples"] | {"rows": [1]}},
    "samples of other labels": lambda line: line | {"label_names": ["x", "y", "z"]},
    "ragged samples": lambda line: (
        line | {"samples": line["samples"] | {"recovered": [[1.0], [0.5, 0.5]]}}
    ),
    "ragged degrees": lambda line: line | {"degrees": {"recovery": [[1.0], [0.5, 0.5]]}},
    "samples without a truth": lambda line: (
        line | {"samples": line["samples"] | {"truth": [[None, None]] * 12}}
    ),
    "samples without labels": lambda line: (
        line | {"label_names": [], "samples": {"rows": [0], "recovered": [[]]}}
    ),
    "negative size": lambda line: line | {"sizes": {"n_train": -8, "n_test": 5}},
    "long name": lambda line: line | {"method": "a" * 100_000},
    "size that is a text": lambda line: line | {"sizes": {"n_train": "8"}},
    "seconds that are a list": lambda line: line | {"seconds": {"total": [1]}},
    "version that is a number": lambda line: line | {"versions": {"numpy": 2}},
    "started at a number": lambda line: line | {"started": 5},
    "convergence without an objective": lambda line: line | {"convergence": {"gap": 1.0}},
}


@pytest.mark.parametrize("change", CRAFTED_RECORDS.values(), ids=CRAFTED_RECORDS)
def test_crafted_records_are_refused(change, lines, tmp_path, capsys):
    write_run(tmp_path, [*lines[:-3], change(lines[-3]), *lines[-2:]])
    assert_refused(tmp_path, capsys)


CRAFTED_FILES = {
    "cells: no JSON": {"cells_json": "{["},
    "cells: an object": {"cells_json": '{"a": 1}'},
    "cells: lists": {"cells_json": "[[1], {}]"},
    "cells: deep": {"cells_json": "[" * DEEP + "]" * DEEP},
    "cells: no UTF-8": {"cells_json": b'["\xff\xfe"]'},
    "cells: empty": {"cells_json": ""},
    "cells: of another run": {"cells_json": '["a", "b"]'},
    "plan: no TOML": {"plan_toml": "name = "},
    "plan: no UTF-8": {"plan_toml": b'name = "\xff"'},
    "plan: deep": {"plan_toml": "a = " + "[" * DEEP + "]" * DEEP},
    "plan: metrics of numbers": {"plan_toml": "metrics = [1, 2]"},
    "plan: metrics is a table": {"plan_toml": "[metrics]\na = 1"},
    "plan: names is a list": {"plan_toml": "display_names = [1]"},
    "plan: names of lists": {"plan_toml": "[display_names]\nDLDL = [1]"},
    "plan: subject is a list": {"plan_toml": "subject = []"},
    "plan: long number": {"plan_toml": "a = " + "9" * 5000},
    "plan: large": {"plan_toml": "a.b.c" + ".a" * 600_000 + " = 1"},
    "records: empty": {"records_jsonl": ""},
    "records: no UTF-8": {"records_jsonl": b"\xff\xfe\x00\n"},
}


@pytest.mark.parametrize("files", CRAFTED_FILES.values(), ids=CRAFTED_FILES)
def test_crafted_files_are_refused(files, lines, tmp_path, capsys):
    assert_refused(write_run(tmp_path, lines, **files), capsys)


def test_folder_in_place_of_a_file(lines, tmp_path, capsys):
    (tmp_path / "records.jsonl").mkdir()
    assert_refused(tmp_path, capsys, match="no records")


@pytest.mark.parametrize("target", ["records.jsonl", "missing", "/dev/zero"])
def test_links_in_place_of_records(target, tmp_path, capsys):
    """A link to itself, to nothing and to a device."""
    (tmp_path / "records.jsonl").symlink_to(target)
    assert_refused(tmp_path, capsys, match="no records")


@pytest.mark.parametrize("name", ["tables", "report.md"])
def test_report_does_not_write_through_links_out_of_the_folder(name, lines, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    run = tmp_path / "run"
    run.mkdir()
    write_run(run, lines[:2])
    (run / name).symlink_to(outside if name == "tables" else outside / "file")
    with pytest.raises(LDLearnError, match="link"):
        write_report(run, formats=[])
    assert (outside / "file").read_text() == "mine"
    assert os.listdir(outside) == ["file"]


@pytest.mark.parametrize(
    ("opened", "suffix"), [(partial(gzip.open, compresslevel=1), "gz"), (lzma.open, "xz")]
)
@pytest.mark.parametrize("damage", ["bomb", "cut", "overwritten"])
def test_packed_records(opened, suffix, damage, tmp_path, capsys):
    """A file of some kilobytes that expands to 17 MB is refused before it is unpacked
    completely."""
    path = tmp_path / f"records.jsonl.{suffix}"
    with opened(path, "wb") as file:
        file.write(b" " * (17 << 20 if damage == "bomb" else 1 << 20) + b"\n")
    content = path.read_bytes()
    if damage == "cut":
        path.write_bytes(content[:-40])
    elif damage == "overwritten":
        path.write_bytes(content[:30] + b"\0" * 40 + content[70:])
    assert_refused(tmp_path, capsys, match="records.jsonl")


def test_huge_dictionary_of_an_xz_file_is_refused(tmp_path, capsys):
    """Its header alone would allocate 1.5 GB."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 20}]
    content = bytearray(lzma.compress(b"{}\n", filters=filters))
    place = content.index(bytes([lzma.FILTER_LZMA2, 1])) + 2
    content[place] = 40  # 4 GiB - 1
    (tmp_path / "records.jsonl.xz").write_bytes(content)
    assert_refused(tmp_path, capsys)


def test_many_labels_give_a_report(lines, tmp_path, capsys):
    n = 20_000
    names = [f"label {j}" for j in range(n)]
    matrix = [[1.0 / n] * n, [1.0] + [0.0] * (n - 1)]
    samples = {
        "rows": [0, 1],
        "truth": matrix,
        "logical": [[1] * n] * 2,
        "recovered": matrix,
        "texts": [],
    }
    many = [lines[0] | {"label_names": names, "samples": samples}]
    code, message = report(write_run(tmp_path, many), capsys)
    assert (code, message) == (0, "")


def test_sound_run_is_reported(lines, tmp_path, capsys):
    """With unknown fields, keys that stand twice, and a metric of another version."""
    extended = [
        line | {"new_field": [{}], "recovery": {"chebyshev": 0.5, "of_the_future": 1.0}}
        for line in lines[:3]
    ]
    twice = raw(extended[0], '"cell":', '"cell": 5, "cell":')
    write_run(tmp_path, [twice, *extended[1:]], plan_toml='name = "x"\nunknown = 5')
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    assert report(tmp_path, capsys) == (0, "")
