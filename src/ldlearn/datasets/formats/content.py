"""What a file holds, before it becomes a data set."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from ldlearn.datasets.dataset import LabelDataset
from ldlearn.errors import DatasetError

# name under which array files keep names and origin, as JSON
META = "ldlearn_meta"
KIND_OF_FIELD = {"D": "distribution", "Y": "logical", "counts": "votes"}
_TEXT_FIELDS = ("name", "source", "licence", "citation", "description")


@dataclass
class Content:
    """Features and label matrices of a file; a matrix of kind "auto" has yet to be understood."""

    X: Any
    labels: dict[str, NDArray[Any]]
    feature_names: Sequence[str] = ()
    label_names: Sequence[str] = ()
    texts: dict[str, str] = field(default_factory=dict)


def matrices(data: LabelDataset) -> dict[str, NDArray[Any]]:
    """Label matrices of a data set by field; those of votes are not repeated as shares."""
    given = {key: getattr(data, key) for key in ("counts", "D", "Y") if getattr(data, key) is not None}
    if "counts" in given:
        del given["D"]
    return given


def meta_of(data: LabelDataset) -> str:
    """Names and origin of a data set as plain ASCII text."""
    texts = {key: getattr(data, key) for key in _TEXT_FIELDS}
    names = {"feature_names": list(data.feature_names), "label_names": list(data.label_names)}
    return json.dumps(names | texts)


def parse_meta(text: str) -> dict[str, Any]:
    """Inverse of `meta_of`, on text of unknown origin."""
    meta = json.loads(text)
    if not isinstance(meta, dict):
        raise DatasetError("Its description of itself is no JSON object.")
    names = {key: [str(name) for name in meta.get(key, ())] for key in ("feature_names", "label_names")}
    return names | {"texts": {key: str(meta[key]) for key in _TEXT_FIELDS if key in meta}}


def distinct(names: Sequence[str]) -> Sequence[str]:
    """The names, if no two are the same."""
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DatasetError(f"The name {twice!r} occurs twice; this format needs distinct names.")
    return names


def first_present(candidates: Sequence[str], present: Mapping[str, Any]) -> str:
    """The first candidate among the present names, in any case of letters; empty if there is none."""
    spelled = {name.lower(): name for name in reversed(list(present))}
    exact = [name for name in candidates if name in present]
    return (exact or [spelled[name.lower()] for name in candidates if name.lower() in spelled] or [""])[0]
