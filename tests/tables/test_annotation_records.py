"""Reading exports of Argilla and Prodigy."""

import json

import pytest

from ldlearn.datasets import read_annotations
from ldlearn.exceptions import TableError


def argilla(key, text, **responses):
    """A record as `Dataset.records.to_json` of Argilla 2 writes it."""
    by_question = {
        question: [{"value": value, "user_id": f"u{k}"} for k, value in enumerate(values)]
        for question, values in responses.items()
    }
    common = {
        "metadata": {"source": "web"},
        "suggestions": {"mood": {"value": ["never counted"], "score": [0.9]}},
    }
    return {
        "id": key,
        "fields": {"text": text},
        "responses": by_question,
        "vectors": {},
        "_server_id": "x",
    } | common


def prodigy(text, annotator, answer="accept", **choice):
    """A line as `prodigy db-out` writes it."""
    hashes = {
        "_input_hash": hash(text) % 1000,
        "_task_hash": 7,
        "_session_id": f"set-{annotator}",
        "_timestamp": 1,
    }
    meta = {
        "options": [{"id": "joy", "text": "joy"}],
        "meta": {"score": 0.2},
        "config": {"choice_style": "multiple"},
    }
    return (
        {"text": text, "answer": answer, "_annotator_id": f"set-{annotator}"}
        | hashes
        | meta
        | choice
    )


def rows_of(imported):
    return {
        row["text"]: tuple(row[name] for name in imported.labels)
        for row in imported.table.to_dict("records")
    }


def test_argilla_counts_raters(tmp_path):
    path = tmp_path / "records.json"
    records = [
        argilla("a", "What a day", mood=[["joy", "fear"], ["joy"]]),
        argilla("b", "Oh no", mood=["fear"]),  # a question with a single label
        argilla("c", "Nothing yet"),
        argilla("d", "Skipped", mood=[None]),
    ]
    path.write_text(json.dumps(records))
    imported = read_annotations(str(path))
    assert (imported.kind, imported.labels) == ("votes", ["fear", "joy"])
    assert rows_of(imported) == {"What a day": (1, 2), "Oh no": (1, 0)}
    assert imported.table["source"].tolist() == ["web", "web"]


def test_argilla_with_two_questions(tmp_path):
    path = tmp_path / "records.json"
    path.write_text(json.dumps([argilla("a", "What a day", mood=[["joy"]], topic=["weather"])]))
    with pytest.raises(TableError, match="several questions"):
        read_annotations(str(path))
    assert read_annotations(str(path), label="topic").labels == ["weather"]


def test_prodigy_choices_and_single_labels(tmp_path):
    path = tmp_path / "annotations.jsonl"
    lines = [
        prodigy("What a day", "anna", accept=["joy", "fear"]),
        prodigy("What a day", "ben", accept=["joy"]),
        prodigy("Oh no", "anna", accept=["fear"]),
        prodigy("Oh no", "ben", "ignore", accept=["joy"]),
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    imported = read_annotations(str(path))
    assert list(imported.table.columns) == ["id", "text", "fear", "joy"]
    assert rows_of(imported) == {"What a day": (1, 2), "Oh no": (1, 0)}
    binary = [
        prodigy("What a day", "anna", label="joy"),
        prodigy("What a day", "anna", "reject", label="fear"),
        prodigy("Oh no", "ben", label="fear"),
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in binary))
    assert rows_of(read_annotations(str(path))) == {"What a day": (0, 1), "Oh no": (1, 0)}
