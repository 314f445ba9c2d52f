"""Reading annotations: exports of annotation tools and tables in long format."""

import json
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldlearn.cli.main import main
from ldlearn.datasets import read_annotations, read_dataset
from ldlearn.exceptions import FileError, ParameterError, TableError
from ldlearn.tables import ColumnOptions, ReadingOptions, fit_table, load_model
from ldlearn.tables.annotation_formats import parse_labels
from ldlearn.tables.columns import find_columns, quote_columns
from ldlearn.tables.files import TableInput
from ldlearn.tables.formats import open_table


def choice(names, question="mood", kind="choices"):
    """A region of an annotation as Label Studio writes it."""
    value = (
        {"start": 0, "end": 4, "text": "What", kind: names} if kind == "labels" else {kind: names}
    )
    return {
        "id": "x1",
        "from_name": question,
        "to_name": "text",
        "type": kind,
        "origin": "manual",
        "value": value,
    }


def annotation(rater, *parts, **more):
    common = {
        "id": 7,
        "was_cancelled": False,
        "ground_truth": False,
        "lead_time": 4.2,
        "result_count": 1,
    }
    return (
        common
        | {"completed_by": rater, "result": list(parts), "created_at": "2026-03-09T21:52:49Z"}
        | more
    )


def task(key, *given_annotations, inside="annotations", **data):
    return {
        "id": key,
        inside: list(given_annotations),
        "data": data or {"text": f"text {key}"},
        "drafts": [],
        "predictions": [{"result": [choice(["never counted"])]}],
        "meta": {},
        "project": 1,
    }


@pytest.fixture
def write(tmp_path):
    """Write a file and give its name: a list as JSON, several lists as JSON lines, or a text."""

    def make(name, content):
        path = tmp_path / name
        if name.endswith(".jsonl"):
            path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content))
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return make


def as_dict(imported):
    return {
        row[imported.id]: tuple(row[name] for name in imported.labels)
        for row in imported.table.to_dict("records")
    }


def test_label_studio_counts_raters(write):
    path = write(
        "project.json",
        [
            task(
                11,
                annotation(1, choice(["joy", "fear"])),
                annotation(2, choice(["joy"])),
                text="What a day",
                length=3,
            ),
            task(
                12,
                annotation({"id": 1, "email": "a@b.c"}, choice(["fear"])),
                text="Oh no",
                length=2,
            ),
            task(13, annotation(1, choice(["joy"]), was_cancelled=True), text="Skipped", length=1),
            task(14, annotation(1), text="Without a result", length=9),
            task(15, text="Nobody came", length=9),
        ],
    )
    imported = read_annotations(path)
    assert imported.kind == "votes"
    assert imported.labels == ["fear", "joy"]
    assert as_dict(imported) == {"11": (1, 2), "12": (1, 0)}
    assert list(imported.table.columns) == ["id", "text", "length", "fear", "joy"]
    assert imported.table["text"].tolist() == ["What a day", "Oh no"]
    messages = "; ".join(imported.messages)
    assert "2 annotations without a label" in messages  # one of them was cancelled
    assert "2 items without a label" in messages  # of those that were annotated
    assert as_dict(read_annotations(path, "labels")) == {"11": (1, 1), "12": (1, 0)}


def test_label_studio_of_one_rater_is_logical(write):
    path = write(
        "one.json",
        [task(1, annotation(5, choice(["b", "a"]))), task(2, annotation(5, choice(["b"])))],
    )
    imported = read_annotations(path)
    assert (imported.kind, as_dict(imported)) == ("labels", {"1": (1, 1), "2": (0, 1)})
    assert read_annotations(path, "votes").kind == "votes"


@pytest.mark.parametrize(
    ("kind", "given", "labels"),
    [
        ("rating", 4, ["4"]),
        ("taxonomy", [["Animal", "Dog"], ["Animal"]], ["Animal", "Animal / Dog"]),
        ("labels", ["PER"], ["PER"]),
        ("rectanglelabels", ["Car"], ["Car"]),
        ("pairwise", None, ["left"]),
    ],
)
def test_label_studio_controls(write, kind, given, labels):
    part = (
        choice(given, kind=kind)
        if given is not None
        else choice([], kind=kind) | {"value": {"selected": "left"}}
    )
    imported = read_annotations(write("p.json", [task(1, annotation(1, part, part))]))
    assert imported.labels == labels
    assert as_dict(imported) == {"1": (1,) * len(labels)}


def test_label_studio_result_type_may_be_a_list(write):
    part = choice(["joy"]) | {"type": ["choices"]}
    assert read_annotations(write("a.json", [task(1, annotation(1, part))])).labels == ["joy"]


def test_label_studio_with_several_questions(write):
    remark = choice([], "why", "textarea") | {"value": {"text": ["a remark"]}}
    both = annotation(1, choice(["a"], "mood"), choice(["x"], "topic"), remark)
    path = write("p.json", [task(1, both), task(2, both)])
    with pytest.raises(
        TableError, match=r"several questions; choose one with label: 'mood', 'topic'\."
    ):
        read_annotations(path)
    assert read_annotations(path, label="topic").labels == ["x"]
    with pytest.raises(TableError, match="there is no question 'topics'; did you mean topic"):
        read_annotations(path, label="topics")


def test_label_studio_short_json_and_csv(write):
    rows = [
        {
            "text": "a",
            "id": 1,
            "mood": {"choices": ["joy", "fear"]},
            "annotator": 1,
            "annotation_id": 8,
            "lead_time": 3.2,
        },
        {"text": "a", "id": 1, "mood": "joy", "annotator": 2, "annotation_id": 9, "lead_time": 1.1},
    ]
    imported = read_annotations(write("min.json", rows), label="mood")
    assert as_dict(imported) == {"1": (1, 2)}
    assert list(imported.table.columns) == ["id", "text", "fear", "joy"]
    text = 'text,id,mood,annotator\na,1,"{""choices"": [""joy"", ""fear""]}",1\na,1,joy,2\n'
    assert as_dict(read_annotations(write("short.csv", text), label="mood")) == {"1": (1, 2)}


def test_nested_data_of_a_task(write):
    path = write(
        "n.json",
        [task(1, annotation(1, choice(["a"])), text="t", about={"source": "web"}, boxes=[1, 2])],
    )
    imported = read_annotations(path)
    assert list(imported.table.columns) == ["id", "text", "about.source", "a"]
    assert any("hold lists" in text and "'boxes'" in text for text in imported.messages)


@pytest.mark.parametrize("key", ["label", "labels", "cats"])
def test_doccano(write, key):
    lines = [
        {"id": 3, "text": "Great|stuff", key: ["pos", "a|b"], "Comments": ["hm"]},
        {"id": 4, "text": "Nothing", key: []},
        {"id": 5, "text": "Meh", key: ["neg"], "Comments": []},
    ]
    imported = read_annotations(write("all.jsonl", lines))
    assert imported.labels == ["a|b", "neg", "pos"]
    assert as_dict(imported) == {"3": (1, 0, 1), "5": (0, 1, 0)}
    assert list(imported.table.columns[:2]) == ["id", "text"]
    assert as_dict(read_annotations(write("all.json", lines))) == as_dict(imported)


def test_doccano_writes_a_file_for_each_annotator(write):
    anna = write(
        "anna.jsonl",
        [{"id": 1, "text": "t", "label": ["pos"]}, {"id": 2, "text": "u", "label": ["neg"]}],
    )
    ben = write(
        "ben.jsonl",
        [{"id": 1, "text": "t", "label": ["pos", "neg"]}, {"id": 2, "text": "u", "label": []}],
    )
    assert as_dict(read_annotations([anna, ben])) == {"1": (1, 2), "2": (1, 0)}


def test_older_doccano_formats(write):
    first = [
        {"doc_id": 20, "text": "t", "labels": ["a"], "username": "x"},
        {"doc_id": 20, "text": "t", "labels": ["a"], "username": "y"},
    ]
    assert as_dict(read_annotations(write("2018.jsonl", first))) == {"20": (2,)}
    inside = [
        {
            "id": 1,
            "text": "t",
            "annotations": [{"label": 2, "user": 1}, {"label": 2, "user": 3}],
            "meta": {"k": "v"},
        }
    ]
    imported = read_annotations(write("2019.jsonl", inside))
    assert as_dict(imported) == {"1": (2,)}
    assert list(imported.table.columns) == ["id", "text", "meta.k", "2"]
    spans = [{"id": 1, "text": "EU rejects", "label": [[0, 2, "ORG"], [3, 6, "ORG"]]}]
    assert as_dict(read_annotations(write("spans.jsonl", spans))) == {"1": (1,)}
    entities = [
        {
            "id": 1,
            "text": "EU",
            "entities": [{"id": 5, "label": "ORG", "start_offset": 0, "end_offset": 2}],
            "relations": [],
        }
    ]
    assert as_dict(read_annotations(write("entities.jsonl", entities))) == {"1": (1,)}
    degrees = [{"id": 1, "text": "EU", "cats": {"good": 1.0, "bad": 0.0}}]
    assert as_dict(read_annotations(write("cats.jsonl", degrees))) == {"1": (1,)}


def test_long_format_table(write):
    rows = [
        "007;a;sky;1,5;9:00",
        "007;b;sky;1,5;9:01",
        "007;b;sky;1,5;9:02",
        "8;a;sea|sky;2,5;9:03",
        "8;c;;2,5;9:04",
    ]
    text = "\n".join(["Item ID;Worker;label;width;when", *rows]) + "\n"
    with pytest.warns(UserWarning, match="decimal"):
        imported = read_annotations(write("long.csv", text))
    assert imported.id == "Item ID"
    assert as_dict(imported) == {"007": (0, 2), "8": (1, 1)}
    assert imported.table["width"].tolist() == [1.5, 2.5]
    messages = "; ".join(imported.messages)
    assert "item 'Item ID', rater 'Worker', label 'label'" in messages
    assert "1 repeated annotations" in messages
    assert "1 annotations without a label" in messages
    assert "differ between the annotations of one item: 'when'" in messages


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("['good', 'great']", ["good", "great"]),
        ("""["it's", 'a, b']""", ["it's", "a, b"]),
        ("['a' 'b'\n 'c|d']", ["a", "b", "c|d"]),
        (r"['a\xa0b', 'c\'d']", ["a\xa0b", "c'd"]),
        ("(np.str_('a'), np.int64(2))", ["a", "2"]),
        ("{'good'}", ["good"]),
        ("[1. 2.5]", ["1", "2.5"]),
        ('[1, 2, "x"]', ["1", "2", "x"]),
        ("[None, nan, 'a']", ["a"]),
        *((empty, []) for empty in ("[]", "()", "{}", "set()", "['']")),
        ("don't know|Anger (mild)", ["don't know", "Anger (mild)"]),
        ("(1)", ["(1)"]),
    ],
)
def test_labels_in_a_cell(cell, labels):
    assert parse_labels(cell, 2, "tags") == labels


@pytest.mark.parametrize(
    "cell", ["['a''b']", "['a', ['b']]", "['\\d']", "['a'", "[" * 100_000, "__import__('os')|['a']"]
)
def test_malformed_lists_of_labels_are_rejected(write, cell):
    path = write("a.jsonl", [{"item": 1, "label": "x"}, {"item": 2, "label": cell}])
    with pytest.raises(TableError, match=r"row 2, column 'label': .* bracket or a lone quote"):
        read_annotations(path)


def test_time_to_parse_a_cell_is_linear():
    for cell in (
        "['" + "a" * 200_000,
        "[" + "1" * 200_000 + "]",
        "['a'" + " " * 200_000 + "x]",
        "[" + "1 " * 50_000 + "x]",
    ):
        start = time.process_time()
        with pytest.raises(TableError, match="bracket"):
            parse_labels(cell, 2)
        assert time.process_time() - start < 1.0


def test_ratings_are_sorted_numerically(write):
    imported = read_annotations(write("r.csv", "item,rater,rating\na,1,10\na,2,9\nb,1,2\n"))
    assert imported.labels == ["2", "9", "10"]
    assert imported.labels_option == "2:10"


WIDE = """i,r,width,emo_joy,emo_fear,emo_calm,note
007,1,1.5,1,0,,x
007,2,1.5,1,1,,y
8,1,2.5,0,1,0,x
8,3,2.5,,,,x
9,1,3.5,0,0,0,x
8,1,2.5,1,1,0,x
"""


@pytest.mark.parametrize("label", ["emo_*", "emo_joy,emo_fear,emo_calm", "emo_joy:emo_calm"])
def test_one_column_for_each_label(write, label):
    imported = read_annotations(write("wide.csv", WIDE), item="i", rater="r", label=label)
    assert list(imported.table.columns) == ["i", "width", "emo_joy", "emo_fear", "emo_calm"]
    assert imported.kind == "votes"
    assert as_dict(imported) == {
        "007": (2, 1, 0),
        "8": (1, 1, 0),
    }  # rater 1 counts once for each label of item 8
    messages = "; ".join(imported.messages)
    assert "item 'i', rater 'r', labels 'emo_joy', 'emo_fear', 'emo_calm'" in messages
    assert "an empty cell counts as 0" in messages
    for left_out in (
        "2 annotations without a label",
        "1 repeated annotations",
        "1 items without a label",
        "'note'",
    ):
        assert left_out in messages
    logical = read_annotations(write("wide.csv", WIDE), "labels", item="i", rater="r", label=label)
    assert as_dict(logical) == {"007": (1, 1, 0), "8": (1, 1, 0)}


def test_one_column_for_each_label_in_other_formats(write):
    rows = [
        {"item": 1, "b": True, "a": False},
        {"item": 1, "b": None, "a": True},
        {"item": 2, "b": "yes", "a": "no"},
    ]
    imported = read_annotations(write("wide.jsonl", rows), label="b,a")
    assert (imported.labels, as_dict(imported)) == (["b", "a"], {"1": (1, 1), "2": (1, 0)})
    several = [write("one.csv", "item,a,b\n1,1,0\n"), write("two.csv", "item,a,b\n1,1,1\n")]
    assert as_dict(read_annotations(several, label="a,b")) == {"1": (2, 1)}


@pytest.mark.parametrize(
    ("wrong", "options", "message"),
    [
        (("8,1,2.5,0,1", "8,1,2.5,0,2"), {}, "row 4, column 'emo_fear': 2 is neither 0 nor 1"),
        (("8,1,2.5,0,1", "8,1,2.5,0,maybe"), {}, "row 4, column 'emo_fear': 'maybe' is"),
        (("", ""), {"item": "i,r"}, "item must be one column"),
        (
            ("", ""),
            {"rater": "emo_joy"},
            "rater must be one column that is no label, not 'emo_joy'",
        ),
    ],
)
def test_malformed_columns_for_each_label(write, wrong, options, message):
    path = write("wide.csv", WIDE.replace(*wrong) if wrong[0] else WIDE)
    with pytest.raises(TableError, match=message):
        read_annotations(path, **{"item": "i", "rater": "r", "label": "emo_*"} | options)


def test_without_rater_column_each_row_is_one_vote(write):
    assert as_dict(read_annotations(write("l.csv", "item,label\na,x\na,x\na,y\n"))) == {"a": (2, 1)}
    assert as_dict(
        read_annotations(
            write("l.jsonl", [{"text": "t", "label": ["x"]}, {"text": "t", "label": ["y"]}])
        )
    ) == {
        "1": (1, 0),
        "2": (0, 1),
    }


def test_label_with_the_name_of_a_column_gets_a_prefix(write):
    imported = read_annotations(write("c.csv", "item,rater,label,text\na,1,text,t\na,2,joy,t\n"))
    assert imported.labels == ["votes:joy", "votes:text"]
    assert find_columns(list(imported.table.columns), imported.labels_option) == [2, 3]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.csv",
            "photo,who,mood\n1,2,3\n",
            "name the column of the labels, .* with label; the columns are 'photo'",
        ),
        ("a.csv", "photo,rater,label\n1,2,3\n", "name the column of the items with item"),
        ("a.csv", "item,label\n,x\n", "row 2, column 'item': the item is missing"),
        ("a.csv", "item,label\n1,\n", "no annotation has a label"),
        ("a.json", "[1, 2]", "a list of JSON objects is needed"),
        ("a.json", "[]", "a list of JSON objects is needed"),
        ("a.json", "{}", "a list of JSON objects is needed"),
        ("a.jsonl", [{}, {}], "the file is empty, or all of its objects are"),
        ("a.json", "{", "the file is no JSON"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.jsonl", [], "the file is empty"),
        ("a.jsonl", [{"id": 1, "label": [[[]]]}], "no annotation has a label"),
        (
            "a.jsonl",
            [{"id": 1, "label": {"what": "ever"}}],
            "row 1, column 'label': it holds no label",
        ),
        ("a.json", [task(1, annotation(1))], "no annotation has a label"),
    ],
)
def test_unreadable_files_raise_clear_errors(write, name, content, message):
    path = write(name, content)
    with pytest.raises(TableError, match=message) as caught:
        read_annotations(path)
    assert str(caught.value).startswith(path)


def test_free_text_column_is_not_a_label_column(write):
    rows = "".join(f"{i},remark number {i}\n" for i in range(1001))
    with pytest.raises(
        TableError, match="1,001 different labels; is that the column of the labels"
    ):
        read_annotations(write("a.csv", "item,label\n" + rows))


def test_duplicate_file_is_rejected(write, tmp_path):
    path = write("a.jsonl", [{"id": 1, "label": ["x"]}])
    (tmp_path / "link.jsonl").symlink_to(path)
    for again in (path, str(tmp_path / "link.jsonl")):
        with pytest.raises(FileError, match="it is the same file as another; name it once"):
            read_annotations([path, again])


def test_invalid_kind_and_missing_files_are_rejected(write):
    with pytest.raises(
        ParameterError, match="kind must be one of auto, votes, labels, got 'counts'"
    ):
        read_annotations(write("a.csv", "item,label\n1,x\n"), "counts")
    with pytest.raises(FileError, match="there is no such file"):
        read_annotations("none.json")


triples = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from(["sky", "sea"])),
    min_size=1,
)


@given(triples)
def test_all_formats_of_the_same_annotations_give_the_same_table(
    tmp_path_factory, given_annotations
):
    folder = tmp_path_factory.mktemp("formats")
    pd.DataFrame(given_annotations, columns=["item", "rater", "label"]).to_csv(
        folder / "long.csv", index=False
    )
    items = dict.fromkeys(item for item, _, _ in given_annotations)
    tasks = [
        task(
            item,
            *(
                annotation(rater, choice([label]))
                for of, rater, label in given_annotations
                if of == item
            ),
        )
        for item in items
    ]
    (folder / "tasks.json").write_text(json.dumps(tasks))
    long, nested = (
        read_annotations(str(folder / name), "votes") for name in ("long.csv", "tasks.json")
    )
    distinct = set(given_annotations)
    expected = {
        item: tuple(
            sum((item, rater, label) in distinct for rater in "xyz") for label in long.labels
        )
        for item in items
    }
    assert as_dict(long) == as_dict(nested) == expected


headings = st.text(alphabet='ab1:,*" ', min_size=1, max_size=3).filter(
    lambda name: name.strip() == name
)


@given(st.lists(headings, min_size=1, max_size=5, unique=True), st.data())
def test_quoted_column_names_round_trip(names, data):
    start = data.draw(st.integers(0, len(names) - 1))
    positions = list(range(start, data.draw(st.integers(start, len(names) - 1)) + 1))
    assert find_columns(names, quote_columns(names, positions)) == positions


def ratings(n=60, seed=0):
    """Annotations of points in the plane by four raters, and the points."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    degrees = np.exp(X @ [[2, 0, -2], [0, 2, -2]])
    names = np.array(["joy", "calm", "fear"])
    votes = [names[rng.choice(3, size=4, p=row / row.sum())] for row in degrees]
    return X, votes


@pytest.fixture
def export(write):
    X, votes = ratings()
    tasks = [
        task(
            i,
            *(annotation(rater, choice([name])) for rater, name in enumerate(given)),
            x1=float(x[0]),
            x2=float(x[1]),
        )
        for i, (x, given) in enumerate(zip(X, votes, strict=True))
    ]
    return write("export.json", tasks)


def command(*arguments):
    with pytest.raises(SystemExit) as exit_info:
        main([str(argument) for argument in arguments])
    return exit_info.value.code


def test_export_to_predictions(export, tmp_path, capsys):
    table, model, out = (tmp_path / name for name in ("table.csv", "m.ldl", "out.csv"))
    assert command("import", export, "--as", "labels", "-o", table) == 0
    messages = capsys.readouterr()
    assert "60 rows, 3 labels" in messages.out
    assert f"ldlearn fit {table} --labels calm:joy --id id" in messages.out
    assert "note: largest number of raters per item: 4; the columns are 1 where" in messages.err
    assert command("fit", table, "--labels", "calm:joy", "--id", "id", "-o", model) == 0
    assert command("predict", table, "-m", model, "-o", out) == 0
    assert pd.read_csv(out)[["calm", "fear", "joy"]].sum(axis=1).to_numpy() == pytest.approx(1)
    assert load_model(model).labels == ("calm", "fear", "joy")


def test_imported_votes_are_fitted_as_votes(export, tmp_path, capsys):
    assert command("import", export, "-o", tmp_path / "votes.csv") == 0
    fit_command = (
        capsys.readouterr()
        .out.splitlines()[-1]
        .removeprefix("Next: ldlearn ")
        .removesuffix("model.ldl")
    )
    assert "--kind votes" in fit_command
    assert command(*fit_command.split(), tmp_path / "m.ldl") == 0
    data = read_dataset(tmp_path / "votes.csv", features="x1:x2", labels="calm:joy")
    assert data.counts.sum(axis=1).tolist() == [4] * 60


def test_open_table_reads_an_export(export):
    with pytest.warns(UserWarning, match="tasks of an annotation tool"):
        data = read_dataset(export, features="x1:x2", labels="calm:joy")
    assert data.counts.shape == (60, 3)


def test_json_list_of_rows_is_a_table(write):
    data = read_dataset(
        write("rows.json", [{"a": 1.5, "x": 1, "y": 0}, {"a": 2.5, "x": 1, "y": 1}]), labels="x:y"
    )
    assert data.Y.tolist() == [[1, 0], [1, 1]]


def test_json_from_standard_input(write, monkeypatch):
    with open(write("a.json", '[{"id": 1, "label": "x"}]')) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert read_annotations("-", reading=ReadingOptions(format="json")).labels == ["x"]


def test_writing_json_is_rejected(export, tmp_path, capsys):
    assert command("import", export, "-o", tmp_path / "out.json") == 2
    assert "can only be read; write JSON lines" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()


def test_import_does_not_overwrite_its_input(export, capsys):
    assert command("import", export, "-o", export) == 2
    assert "same file as the input" in capsys.readouterr().err


def test_suggested_command_fits_one_column_for_each_label(write, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    votes = rng.random((40, 3, 2)) < 0.5
    rows = [
        f"{i},{r},{i % 7},{int(v[0])},{int(v[1])}"
        for i, item in enumerate(votes)
        for r, v in enumerate(item)
    ]
    write("raters.csv", "\n".join(["photo,who,x,a,b", *rows]) + "\n")
    assert (
        command(
            "import",
            "raters.csv",
            "--item",
            "photo",
            "--rater",
            "who",
            "--label",
            "a,b",
            "-o",
            "t.csv",
        )
        == 0
    )
    line = capsys.readouterr().out.splitlines()[-1]
    assert line == "Next: ldlearn fit t.csv --labels a:b --id photo --kind votes -o model.ldl"
    assert command(*line.split()[2:]) == 0
    assert load_model("model.ldl").labels == ("a", "b")


def test_import_writes_to_standard_output(export, capsys):
    assert command("import", export, "--to", "jsonl") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0]).keys() == {
        "id",
        "x1",
        "x2",
        "calm",
        "fear",
        "joy",
    }
    assert command("import", export, "-o", "-", "--json") == 2


def test_tasks_as_json_lines_or_json_list(write):
    tasks = [
        task(1, annotation(1, choice(["a"])), annotation(2, choice(["b"]))),
        task(2, annotation(1, choice(["a"]))),
    ]
    for path in (write("tasks.json", tasks), write("tasks.jsonl", tasks)):
        messages = []
        with open_table(TableInput(path, ReadingOptions(on_message=messages.append))) as source:
            assert source.names == ["id", "text", "a", "b"]
            assert source.read({"a": "any", "b": "any"}).to_numpy().tolist() == [[1, 1], [1, 0]]
        assert "tasks of an annotation tool; largest number of raters per item: 2" in messages[0]


def test_json_lists_are_labels_not_features(write):
    rows = [
        {"x": i / 10, "tags": ["sky", "sea"] if i % 2 else ["sky"], "y": i % 2} for i in range(20)
    ]
    path = write("tags.jsonl", rows)
    messages = []
    settings = {
        "holdout": 0.0,
        "params": {"beta": 1.0, "gamma": 1.0, "ordered": 0.1},
        "reading": ReadingOptions(on_message=messages.append),
    }
    assert fit_table(path, "tags", **settings, columns=ColumnOptions(ignore="y")).labels == (
        "sea",
        "sky",
    )
    assert "column 'tags' holds lists of labels" in messages[0]
    with pytest.raises(
        TableError, match="row 1, column 'tags': a list is no feature; leave the column out"
    ):
        fit_table(path, "y")
    spans = write("spans.jsonl", [{"x": 1.0, "label": [[0, 4, "sky"]]}])
    with pytest.raises(
        TableError, match=r"row 1, column 'label': .*`ldlearn import` makes a table"
    ):
        fit_table(spans, "label")


def test_numeric_labels_are_sorted_numerically(write):
    rows = [{"x": i / 10, "stars": f"{i % 12 + 1}|{(i + 1) % 12 + 1}"} for i in range(36)]
    model = fit_table(
        write("stars.jsonl", rows),
        "stars",
        holdout=0.0,
        params={"beta": 1.0},
        reading=ReadingOptions(on_message=lambda text: None),
    )
    assert model.labels == tuple(str(j) for j in range(1, 13))
