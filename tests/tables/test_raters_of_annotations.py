"""Annotations keep who gave which label: exports of platforms, agreement, raters to leave out."""

import json

import numpy as np
import pytest

from ldlearn.core import krippendorff_alpha
from ldlearn.datasets import read_annotations
from ldlearn.exceptions import TableError


@pytest.fixture
def write(tmp_path):
    def make(name, text):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return make


EXPORTS = {
    "Mechanical Turk": (
        '"HITId","Title","AssignmentId","WorkerId","Input.text","Answer.sentiment.label"\n'
        '"3X","Mood","A1","W1","Oh","joy"\n"3X","Mood","A2","W2","Oh","fear"\n',
        {},
        ("HITId", "WorkerId", "Answer.sentiment.label"),
    ),
    "Toloka": (
        "INPUT:image\tOUTPUT:result\tGOLDEN:result\tASSIGNMENT:task_id\tASSIGNMENT:worker_id\n"
        "1.jpg\tcat\t\tt1\tu1\n1.jpg\tdog\t\tt1\tu2\n",
        {},
        ("ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "OUTPUT:result"),
    ),
    "Appen": (
        "_unit_id,_created_at,_trust,_worker_id,mood,text\n7,1/1/2020,0.9,44,joy,Oh\n"
        "7,1/2/2020,0.8,45,fear,Oh\n",
        {"label": "mood"},
        ("_unit_id", "_worker_id", "mood"),
    ),
    "crowd-kit": (
        "worker,task,label\nw1,t1,1\nw2,t1,0\n",
        {},
        ("task", "worker", "label"),
    ),
    "Prolific": (
        "item,Participant id,rating\na,5f,1\na,6f,2\n",
        {},
        ("item", "Participant id", "rating"),
    ),
    "Label Studio": (
        "annotation_id,annotator,created_at,id,mood,text\n1,3,x,5,joy,Oh\n2,4,y,5,fear,Oh\n",
        {"label": "mood"},
        ("id", "annotator", "mood"),
    ),
    "judgments of sentences": (
        "sentence_id,assessor,judgment\ns1,p,joy\ns1,q,fear\n",
        {},
        ("sentence_id", "assessor", "judgment"),
    ),
    "the task goes before its question": (
        "id,question_id,Expert ID,tag\n7,3,p,joy\n7,3,q,fear\n",
        {},
        ("id", "Expert ID", "tag"),
    ),
    "authors of the items are users, too": (
        "user_name,annotatorName,item,label\neve,ann,a,joy\neve,ben,a,fear\n",
        {},
        ("item", "annotatorName", "label"),
    ),
}


@pytest.mark.parametrize(("text", "given", "roles"), EXPORTS.values(), ids=EXPORTS)
def test_columns_of_exports_are_recognised(write, text, given, roles):
    found = read_annotations(write("export.tsv" if "\t" in text else "export.csv", text), **given)
    item, rater, label = roles
    assert f"item {item!r}, rater {rater!r}, label {label!r}" in found.messages[0]
    assert (len(found.items), len(found.rater_names), len(found.labels)) == (1, 2, 2)
    if "user_name" in text:
        assert found.table["user_name"].tolist() == ["eve"]


@pytest.mark.parametrize(
    "name", ["userId", "user_id", "worker", "workerId", "annotator_name", "who", "labeler", "coder"]
)
def test_names_of_rater_columns(write, name):
    found = read_annotations(write("a.csv", f"item,{name},label\na,x,sky\na,y,sea\n"))
    assert found.rater_names == ["x", "y"]


@pytest.mark.parametrize("name", ["whose", "use", "works", "participants", "raters", "reviewer"])
def test_features_are_not_taken_for_raters(write, name):
    found = read_annotations(write("a.csv", f"item,{name},label\na,3,sky\na,3,sea\n"))
    assert found.rater_names == []
    assert name in found.table
    assert "no column of raters" in found.messages[0]


def test_several_questions_are_not_guessed(write):
    text = "HITId,WorkerId,Answer.mood,Answer.topic\n1,w,joy,sky\n"
    with pytest.raises(TableError, match="name the column of the labels"):
        read_annotations(write("a.csv", text))


def votes_of(found):
    names = [*found.rater_names, *[None] * found.votes.n_raters]
    labels = [*found.labels, None]
    triples = zip(found.votes.item, found.votes.rater, found.votes.label, strict=True)
    return {(found.items[i], names[r], labels[j]) for i, r, j in triples}


def test_votes_name_item_rater_and_label(write):
    text = "item,rater,label\nb,x,sky\nb,y,sky|sea\na,y,sea\na,y,sea\na,,sky\n"
    found = read_annotations(write("a.csv", text))
    assert votes_of(found) == {
        ("b", "x", "sky"),
        ("b", "y", "sky"),
        ("b", "y", "sea"),
        ("a", "y", "sea"),
        ("a", None, "sky"),
    }
    assert found.votes.n_raters == 3
    tasks = [
        {"id": 1, "data": {}, "annotations": [{"completed_by": 7, "result": [choice("sky")]}] * 2}
    ]
    assert votes_of(read_annotations(write("a.json", json.dumps(tasks)))) == {("1", "7", "sky")}


def choice(label):
    return {"type": "choices", "value": {"choices": [label]}}


def test_only_columns_for_each_label_state_that_none_applies(write):
    wide = "item,rater,sky,sea\na,x,0,0\na,y,1,0\na,z,,\nb,x,0,0\n"
    found = read_annotations(write("wide.csv", wide), label="sky,sea")
    assert votes_of(found) == {("a", "x", None), ("a", "y", "sky"), ("b", "x", None)}
    assert found.table["item"].tolist() == ["a"]
    assert found.alpha.by_label[0] == pytest.approx(0)
    long = "item,rater,label\na,x,\na,y,sky\n"
    assert votes_of(read_annotations(write("long.csv", long))) == {("a", "y", "sky")}


def ratings(n_items=60, seed=0):
    """Three of five raters label each item; "bot" clicks at random and "few" has three items."""
    rng = np.random.default_rng(seed)
    lines = ["item,rater,label"]
    for item in range(n_items):
        label = rng.integers(4)
        for rater in ["ann", "ben", "cleo", "bot", *(["few"] if item < 3 else [])]:
            given = rng.integers(4) if rater == "bot" or rng.random() < 0.1 else label
            lines.append(f"i{item},{rater},{['sky', 'sea', 'sun', 'ice'][given]}")
    return "\n".join(lines) + "\n"


def test_agreement_of_raters(write):
    found = read_annotations(write("a.csv", ratings()))
    assert found.alpha.overall == krippendorff_alpha(found.votes).overall
    raters = found.raters.set_index("rater")
    assert raters.columns.tolist() == [
        "annotations", "agreement", "chance", "low", "high", "verdict",
    ]  # fmt: skip
    assert raters.index[0] == "bot"
    assert raters.index[-1] == "few"
    assert raters["annotations"]["few"] == 3
    assert raters["verdict"].to_dict() == {
        "ann": "above chance",
        "ben": "above chance",
        "cleo": "above chance",
        "bot": "at chance",
        "few": "undetermined",
    }
    alpha, listed, undetermined = found.describe_agreement()
    assert alpha.startswith(f"Krippendorff's alpha {found.alpha.overall:.3f}, 95 % interval")
    assert listed == "Agreement with the other raters no better than chance: 1 of 5 raters: 'bot'."
    assert undetermined.startswith("Undetermined: 1 of 5 raters")


@pytest.mark.parametrize("exclude", ["chance", "bot", ["bot"], " bot "])
def test_raters_are_left_out(write, exclude):
    path = write("a.csv", ratings())
    everybody = read_annotations(path)
    found = read_annotations(path, exclude_raters=exclude)
    assert "left out: 60 annotations of the raters 'bot'" in found.messages
    assert found.rater_names == ["ann", "ben", "cleo", "few"]
    total = everybody.table[everybody.labels].to_numpy().sum()
    assert found.table[found.labels].to_numpy().sum() == total - 60
    assert found.alpha.overall > everybody.alpha.overall
    assert "none of 4 raters is found" in found.describe_agreement()[1]


def test_who_can_be_left_out(write):
    path = write("a.csv", ratings())
    kept = read_annotations(path, exclude_raters="bot,few")
    assert kept.rater_names == ["ann", "ben", "cleo"]
    again = write("b.csv", "item,rater,label\na,x,sky\na,y,sea\n")
    found = read_annotations(again, exclude_raters="chance")
    assert "no rater is left out" in "; ".join(found.messages)
    with pytest.raises(TableError, match="there is no rater 'bott'; did you mean bot"):
        read_annotations(path, exclude_raters="bott")
    with pytest.raises(TableError, match="no annotation names its rater"):
        read_annotations(write("c.csv", "item,label\na,sky\n"), exclude_raters="x")
    with pytest.raises(TableError, match="no annotation is left"):
        read_annotations(again, exclude_raters=["x", "y"])


def test_nothing_is_said_about_raters_without_names_or_a_single_one(write):
    nameless = read_annotations(write("a.csv", "item,label\na,sky\na,sky\nb,sea\nb,sky\n"))
    assert nameless.raters.empty
    (sentence,) = nameless.describe_agreement()
    assert sentence.startswith("Krippendorff's alpha 0.000")
    single = read_annotations(write("b.csv", "item,rater,label\na,x,sky\nb,x,sea\n"))
    assert (single.describe_agreement(), single.raters_at_chance) == ([], [])


def test_many_labels_are_counted_without_warnings(write):
    lines = [f"a,x,label {j}\nb,y,label {j}" for j in range(120)]
    found = read_annotations(write("a.csv", "\n".join(["item,rater,label", *lines]) + "\n"))
    assert found.table[found.labels].to_numpy().tolist() == [[1] * 120] * 2
