"""Small example tables, and manually built model files."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pandas as pd

from ldlearn.core import binarize, softmax

LABELS = ["sky", "mountain", "sea"]


def make_table(n: int = 80, seed: int = 0) -> pd.DataFrame:
    """Numbers, a text column, missing values, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    height, wet = rng.normal(size=n), rng.normal(size=n)
    place = rng.choice(["coast", "inland", "island"], size=n)
    table = pd.DataFrame(
        {"key": [f"r{i}" for i in range(n)], "height": height, "wet": wet, "place": place}
    )
    table["sky"] = (rng.random(n) < 0.8).astype(int)
    table["mountain"] = (height + 0.3 * rng.normal(size=n) > 0).astype(int)
    table["sea"] = ((place != "inland") & (wet > -0.5)).astype(int)
    table.loc[table[LABELS].sum(axis=1) == 0, "sky"] = 1
    table.loc[[3, 11], "wet"] = np.nan
    table.loc[5, "place"] = None
    return table


def make_votes(n: int = 80, seed: int = 0) -> pd.DataFrame:
    """`make_table` with counts of up to four votes; rows 4 and 7 have none."""
    table = make_table(n, seed)
    rng = np.random.default_rng(seed)
    chances = table[LABELS].to_numpy() + 0.3
    chances /= chances.sum(axis=1, keepdims=True)
    numbers = rng.integers(1, 5, size=n)
    numbers[[4, 7]] = 0
    table[LABELS] = rng.multinomial(numbers, chances)
    return table


REASONS = ["price", "quality", "service", "location", "brand", "habit"]


def make_survey(
    seed: int = 0, n: int = 1200, n_features: int = 6
) -> tuple[pd.DataFrame, np.ndarray]:
    """A survey with the true degrees of six reasons: respondents name those with a degree above
    0.2.

    Two rows name none.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    scores = 0.65 * X @ rng.normal(size=(n_features, 6)) / np.sqrt(n_features) + 0.3 * rng.normal(
        size=6
    )
    D = softmax(scores + 0.5 * rng.normal(size=(n, 6)))
    Y = binarize(D, delta=0.2) | binarize(D, "top-k", k=1)
    Y[[40, 41]] = 0
    columns = {f"x{j}": X[:, j].round(4) for j in range(n_features)} | dict(
        zip(REASONS, Y.T, strict=True)
    )
    return pd.DataFrame({"id": [f"r{i}" for i in range(n)]} | columns), D


def parts_of(model: bytes) -> tuple[dict[str, Any], bytes]:
    """The JSON part of a model file, and the bytes of its arrays."""
    body = model.split(b"\n", 2)[2]
    end = 8 + int.from_bytes(body[:8], "little")
    return json.loads(body[8:end]), body[end:]


def content_of(model: bytes) -> dict[str, Any]:
    """The JSON part of a model file."""
    return parts_of(model)[0]


def with_text(text: bytes, arrays: bytes = b"", version: int = 1) -> bytes:
    """A manually built model file with a valid checksum."""
    body = len(text).to_bytes(8, "little") + text + arrays
    return b"ldlearn-model %d\n%s\n" % (version, hashlib.sha256(body).hexdigest().encode()) + body


def edited(model: bytes, content: dict[str, Any]) -> bytes:
    """A model file with other JSON."""
    return with_text(json.dumps(content).encode(), parts_of(model)[1])
