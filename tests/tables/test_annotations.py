"""Answers of raters: files built after the documented formats of annotation tools become tables that `fit` reads."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldlearn.cli.main import main
from ldlearn.datasets import read_annotations, read_dataset
from ldlearn.exceptions import FileError, ParameterError, TableError
from ldlearn.tables import fit_table, load_model
from ldlearn.tables.columns import find_columns, quote_columns
from ldlearn.tables.files import Input
from ldlearn.tables.formats import open_table


def choice(names, question="mood", kind="choices"):
    """A part of an answer as Label Studio writes it."""
    value = {"start": 0, "end": 4, "text": "What", kind: names} if kind == "labels" else {kind: names}
    return {"id": "x1", "from_name": question, "to_name": "text", "type": kind, "origin": "manual", "value": value}


def answer(who, *parts, **more):
    common = {"id": 7, "was_cancelled": False, "ground_truth": False, "lead_time": 4.2, "result_count": 1}
    return common | {"completed_by": who, "result": list(parts), "created_at": "2026-03-09T21:52:49Z"} | more


def task(key, *answers, inside="annotations", **data):
    return {
        "id": key,
        inside: list(answers),
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


def as_dict(found):
    return {row[found.id]: tuple(row[name] for name in found.labels) for row in found.table.to_dict("records")}


def test_label_studio_counts_raters(write):
    path = write(
        "project.json",
        [
            task(11, answer(1, choice(["joy", "fear"])), answer(2, choice(["joy"])), text="What a day", length=3),
            task(12, answer({"id": 1, "email": "a@b.c"}, choice(["fear"])), text="Oh no", length=2),
            task(13, answer(1, choice(["joy"]), was_cancelled=True), text="Skipped", length=1),
            task(14, answer(1), text="Without a result", length=9),
            task(15, text="Nobody came", length=9),
        ],
    )
    found = read_annotations(path)
    assert found.kind == "votes"
    assert found.labels == ["fear", "joy"]
    assert as_dict(found) == {"11": (1, 2), "12": (1, 0)}
    assert list(found.table.columns) == ["id", "text", "length", "fear", "joy"]
    assert found.table["text"].tolist() == ["What a day", "Oh no"]
    said = "; ".join(found.messages)
    assert "2 annotations without a label" in said  # one of them was cancelled
    assert "2 items without a label" in said  # of those that were annotated
    assert as_dict(read_annotations(path, "labels")) == {"11": (1, 1), "12": (1, 0)}


def test_label_studio_of_one_rater_is_logical(write):
    path = write("one.json", [task(1, answer(5, choice(["b", "a"]))), task(2, answer(5, choice(["b"])))])
    found = read_annotations(path)
    assert (found.kind, as_dict(found)) == ("labels", {"1": (1, 1), "2": (0, 1)})
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
    part = choice(given, kind=kind) if given is not None else choice([], kind=kind) | {"value": {"selected": "left"}}
    found = read_annotations(write("p.json", [task(1, answer(1, part, part))]))
    assert found.labels == labels
    assert as_dict(found) == {"1": (1,) * len(labels)}


def test_a_task_of_unusual_types_is_read(write):
    part = choice(["joy"]) | {"type": ["choices"]}
    assert read_annotations(write("a.json", [task(1, answer(1, part))])).labels == ["joy"]


def test_label_studio_with_several_questions(write):
    remark = choice([], "why", "textarea") | {"value": {"text": ["a remark"]}}
    both = answer(1, choice(["a"], "mood"), choice(["x"], "topic"), remark)
    path = write("p.json", [task(1, both), task(2, both)])
    with pytest.raises(TableError, match=r"several questions; choose one with label: 'mood', 'topic'\."):
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
    found = read_annotations(write("min.json", rows), label="mood")
    assert as_dict(found) == {"1": (1, 2)}
    assert list(found.table.columns) == ["id", "text", "fear", "joy"]
    text = 'text,id,mood,annotator\na,1,"{""choices"": [""joy"", ""fear""]}",1\na,1,joy,2\n'
    assert as_dict(read_annotations(write("short.csv", text), label="mood")) == {"1": (1, 2)}


def test_nested_data_of_a_task(write):
    path = write("n.json", [task(1, answer(1, choice(["a"])), text="t", about={"source": "web"}, boxes=[1, 2])])
    found = read_annotations(path)
    assert list(found.table.columns) == ["id", "text", "about.source", "a"]
    assert any("hold lists" in text and "'boxes'" in text for text in found.messages)


@pytest.mark.parametrize("key", ["label", "labels", "cats"])
def test_doccano(write, key):
    lines = [
        {"id": 3, "text": "Great|stuff", key: ["pos", "a|b"], "Comments": ["hm"]},
        {"id": 4, "text": "Nothing", key: []},
        {"id": 5, "text": "Meh", key: ["neg"], "Comments": []},
    ]
    found = read_annotations(write("all.jsonl", lines))
    assert found.labels == ["a|b", "neg", "pos"]
    assert as_dict(found) == {"3": (1, 0, 1), "5": (0, 1, 0)}
    assert list(found.table.columns[:2]) == ["id", "text"]
    assert as_dict(read_annotations(write("all.json", lines))) == as_dict(found)


def test_doccano_writes_a_file_for_each_annotator(write):
    anna = write("anna.jsonl", [{"id": 1, "text": "t", "label": ["pos"]}, {"id": 2, "text": "u", "label": ["neg"]}])
    ben = write("ben.jsonl", [{"id": 1, "text": "t", "label": ["pos", "neg"]}, {"id": 2, "text": "u", "label": []}])
    assert as_dict(read_annotations([anna, ben])) == {"1": (1, 2), "2": (1, 0)}


def test_doccano_of_other_years(write):
    first = [
        {"doc_id": 20, "text": "t", "labels": ["a"], "username": "x"},
        {"doc_id": 20, "text": "t", "labels": ["a"], "username": "y"},
    ]
    assert as_dict(read_annotations(write("2018.jsonl", first))) == {"20": (2,)}
    inside = [
        {"id": 1, "text": "t", "annotations": [{"label": 2, "user": 1}, {"label": 2, "user": 3}], "meta": {"k": "v"}}
    ]
    found = read_annotations(write("2019.jsonl", inside))
    assert as_dict(found) == {"1": (2,)}
    assert list(found.table.columns) == ["id", "text", "meta.k", "2"]
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


def test_a_long_table(write):
    rows = ["007;a;sky;1,5;9:00", "007;b;sky;1,5;9:01", "007;b;sky;1,5;9:02", "8;a;sea|sky;2,5;9:03", "8;c;;2,5;9:04"]
    text = "\n".join(["Item ID;Worker;label;width;when", *rows]) + "\n"
    with pytest.warns(UserWarning, match="decimal"):
        found = read_annotations(write("long.csv", text))
    assert found.id == "Item ID"
    assert as_dict(found) == {"007": (0, 2), "8": (1, 1)}
    assert found.table["width"].tolist() == [1.5, 2.5]
    said = "; ".join(found.messages)
    assert "item 'Item ID', rater 'Worker', label 'label'" in said
    assert "1 repeated annotations" in said
    assert "1 annotations without a label" in said
    assert "differ between the annotations of one item: 'when'" in said


def test_ratings_are_in_the_order_of_numbers(write):
    found = read_annotations(write("r.csv", "item,rater,rating\na,1,10\na,2,9\nb,1,2\n"))
    assert found.labels == ["2", "9", "10"]
    assert found.labels_option == "2:10"


def test_without_raters_every_row_is_one(write):
    assert as_dict(read_annotations(write("l.csv", "item,label\na,x\na,x\na,y\n"))) == {"a": (2, 1)}
    assert as_dict(
        read_annotations(write("l.jsonl", [{"text": "t", "label": ["x"]}, {"text": "t", "label": ["y"]}]))
    ) == {
        "1": (1, 0),
        "2": (0, 1),
    }


def test_a_label_that_is_called_like_a_column(write):
    found = read_annotations(write("c.csv", "item,rater,label,text\na,1,text,t\na,2,joy,t\n"))
    assert found.labels == ["votes:joy", "votes:text"]
    assert find_columns(list(found.table.columns), found.labels_option) == [2, 3]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "photo,who,tag\n1,2,3\n", "name the column of the labels with label; the columns are 'photo'"),
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
        ("a.jsonl", [{"id": 1, "label": {"what": "ever"}}], "row 1, column 'label': it holds no label"),
        ("a.json", [task(1, answer(1))], "no annotation has a label"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(write, name, content, message):
    path = write(name, content)
    with pytest.raises(TableError, match=message) as caught:
        read_annotations(path)
    assert str(caught.value).startswith(path)


def test_a_column_of_texts_is_no_label(write):
    rows = "".join(f"{i},remark number {i}\n" for i in range(1001))
    with pytest.raises(TableError, match="1,001 different labels; is that the column of the labels"):
        read_annotations(write("a.csv", "item,label\n" + rows))


def test_no_file_counts_twice(write, tmp_path):
    path = write("a.jsonl", [{"id": 1, "label": ["x"]}])
    (tmp_path / "link.jsonl").symlink_to(path)
    for again in (path, str(tmp_path / "link.jsonl")):
        with pytest.raises(FileError, match="it is the same file as another; name it once"):
            read_annotations([path, again])


def test_kinds_and_files_are_checked(write):
    with pytest.raises(ParameterError, match="kind must be one of auto, votes, labels, got 'counts'"):
        read_annotations(write("a.csv", "item,label\n1,x\n"), "counts")
    with pytest.raises(FileError, match="there is no such file"):
        read_annotations("none.json")


triples = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from(["sky", "sea"])), min_size=1
)


@given(triples)
def test_all_shapes_of_the_same_answers_give_the_same_table(tmp_path_factory, answers):
    folder = tmp_path_factory.mktemp("shapes")
    pd.DataFrame(answers, columns=["item", "rater", "label"]).to_csv(folder / "long.csv", index=False)
    items = dict.fromkeys(item for item, _, _ in answers)
    tasks = [task(item, *(answer(who, choice([label])) for of, who, label in answers if of == item)) for item in items]
    (folder / "tasks.json").write_text(json.dumps(tasks))
    long, nested = (read_annotations(str(folder / name), "votes") for name in ("long.csv", "tasks.json"))
    distinct = set(answers)
    expected = {
        item: tuple(sum((item, who, label) in distinct for who in "xyz") for label in long.labels) for item in items
    }
    assert as_dict(long) == as_dict(nested) == expected


headings = st.text(alphabet='ab1:,*" ', min_size=1, max_size=3).filter(lambda name: name.strip() == name)


@given(st.lists(headings, min_size=1, max_size=5, unique=True), st.data())
def test_columns_said_aloud_are_understood(names, data):
    start = data.draw(st.integers(0, len(names) - 1))
    positions = list(range(start, data.draw(st.integers(start, len(names) - 1)) + 1))
    assert find_columns(names, quote_columns(names, positions)) == positions


def ratings(n=60, seed=0):
    """Answers of four raters about points of a plane, and the points."""
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
        task(i, *(answer(who, choice([name])) for who, name in enumerate(given)), x1=float(x[0]), x2=float(x[1]))
        for i, (x, given) in enumerate(zip(X, votes, strict=True))
    ]
    return write("export.json", tasks)


def command(*words):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return ended.value.code


def test_from_an_export_to_degrees(export, tmp_path, capsys):
    table, model, out = (tmp_path / name for name in ("table.csv", "m.ldl", "out.csv"))
    assert command("import", export, "--as", "labels", "-o", table) == 0
    said = capsys.readouterr()
    assert "60 rows, 3 labels" in said.out
    assert f"ldlearn fit {table} --labels calm:joy --id id" in said.out
    assert "note: up to 4 raters an item; the columns are 1 where" in said.err
    assert command("fit", table, "--labels", "calm:joy", "--id", "id", "-o", model) == 0
    assert command("predict", table, "-m", model, "-o", out) == 0
    assert pd.read_csv(out)[["calm", "fear", "joy"]].sum(axis=1).to_numpy() == pytest.approx(1)
    assert load_model(model).labels == ("calm", "fear", "joy")


def test_votes_are_read_as_votes(export, tmp_path, capsys):
    assert command("import", export, "-o", tmp_path / "votes.csv") == 0
    told = capsys.readouterr().out.splitlines()[-1].removeprefix("Next: ldlearn ").removesuffix("model.ldl")
    assert "--kind votes" in told
    assert command(*told.split(), tmp_path / "m.ldl") == 0
    data = read_dataset(tmp_path / "votes.csv", features="x1:x2", labels="calm:joy")
    assert data.counts.sum(axis=1).tolist() == [4] * 60


def test_an_export_can_be_opened_like_a_table(export):
    with pytest.warns(UserWarning, match="tasks of an annotation tool"):
        data = read_dataset(export, features="x1:x2", labels="calm:joy")
    assert data.counts.shape == (60, 3)


def test_a_json_file_of_rows_is_a_table(write):
    data = read_dataset(write("rows.json", [{"a": 1.5, "x": 1, "y": 0}, {"a": 2.5, "x": 1, "y": 1}]), labels="x:y")
    assert data.Y.tolist() == [[1, 0], [1, 1]]


def test_a_json_file_may_come_through_a_pipe(write, monkeypatch):
    with open(write("a.json", '[{"id": 1, "label": "x"}]')) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert read_annotations("-", format="json").labels == ["x"]


def test_json_is_not_written(export, tmp_path, capsys):
    assert command("import", export, "-o", tmp_path / "out.json") == 2
    assert "can only be read; write JSON lines" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()


def test_the_command_never_replaces_its_input(export, capsys):
    assert command("import", export, "-o", export) == 2
    assert "same file as the input" in capsys.readouterr().err


def test_the_command_in_a_pipe(export, capsys):
    assert command("import", export, "--to", "jsonl") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0]).keys() == {"id", "x1", "x2", "calm", "fear", "joy"}
    assert command("import", export, "-o", "-", "--json") == 2


def test_tasks_are_a_table_in_lines_and_in_a_list(write):
    tasks = [task(1, answer(1, choice(["a"])), answer(2, choice(["b"]))), task(2, answer(1, choice(["a"])))]
    for path in (write("tasks.json", tasks), write("tasks.jsonl", tasks)):
        said = []
        with open_table(Input(path, on_message=said.append)) as source:
            assert source.names == ["id", "text", "a", "b"]
            assert source.read({"a": "any", "b": "any"}).to_numpy().tolist() == [[1, 1], [1, 0]]
        assert "tasks of an annotation tool; up to 2 raters an item" in said[0]


def test_json_lists_are_labels_and_no_features(write):
    rows = [{"x": i / 10, "tags": ["sky", "sea"] if i % 2 else ["sky"], "y": i % 2} for i in range(20)]
    path = write("tags.jsonl", rows)
    said = []
    settings = {"holdout": 0.0, "params": {"beta": 1.0, "gamma": 1.0, "ordered": 0.1}, "on_message": said.append}
    assert fit_table(path, "tags", ignore="y", **settings).labels == ("sea", "sky")
    assert "column 'tags' holds lists of labels" in said[0]
    with pytest.raises(TableError, match="row 1, column 'tags': a list is no feature; leave the column out"):
        fit_table(path, "y")
    spans = write("spans.jsonl", [{"x": 1.0, "label": [[0, 4, "sky"]]}])
    with pytest.raises(TableError, match=r"row 1, column 'label': .*`ldlearn import` makes a table"):
        fit_table(spans, "label")


def test_labels_that_are_numbers_are_in_the_order_of_numbers(write):
    rows = [{"x": i / 10, "stars": f"{i % 12 + 1}|{(i + 1) % 12 + 1}"} for i in range(36)]
    model = fit_table(
        write("stars.jsonl", rows), "stars", holdout=0.0, params={"beta": 1.0}, on_message=lambda text: None
    )
    assert model.labels == tuple(str(j) for j in range(1, 13))
