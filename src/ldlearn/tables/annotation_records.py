"""Records of Argilla and Prodigy as tasks like those of Label Studio, which `parse_tasks` reads."""

from collections.abc import Mapping
from typing import Any

# What Prodigy stores about an annotation, besides keys that begin with an underscore.
_PRODIGY_KEYS = {"accept", "label", "answer", "options", "spans", "tokens", "config", "meta", "score", "priority"}


def as_task(record: dict[str, Any]) -> dict[str, Any]:
    """A record of Argilla or of Prodigy as a task; any other record unchanged."""
    if isinstance(record.get("responses"), Mapping) and isinstance(record.get("fields"), Mapping):
        return _argilla_task(record)
    return _prodigy_task(record) if "_input_hash" in record and "answer" in record else record


def _argilla_task(record: Mapping[str, Any]) -> dict[str, Any]:
    annotations = [
        {"completed_by": response.get("user_id"), "result": [_result(response.get("value"), question)]}
        for question, responses in record["responses"].items()
        for response in responses or ()
    ]
    metadata = record.get("metadata")
    data = {**record["fields"], **(metadata if isinstance(metadata, Mapping) else {})}
    return {"id": record.get("id"), "data": data, "annotations": annotations}


def _prodigy_task(record: Mapping[str, Any]) -> dict[str, Any]:
    """One annotation: of several options (``accept``), or of one label that was accepted, rejected or ignored."""
    annotation = {
        "completed_by": record.get("_annotator_id", record.get("_session_id")),
        "was_cancelled": record["answer"] != "accept",
        "result": [_result(record.get("accept", record.get("label")))],
    }
    data = {name: value for name, value in record.items() if name not in _PRODIGY_KEYS and not name.startswith("_")}
    return {"id": record["_input_hash"], "data": data, "annotations": [annotation]}


def _result(labels: Any, question: str | None = None) -> dict[str, Any]:
    result = {"type": "choices", "value": {"choices": labels}}
    return result if question is None else result | {"from_name": question}
