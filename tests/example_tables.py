"""A small table of the kind people have, and model files made by hand."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import Any

import numpy as np
import pandas as pd

LABELS = ["sky", "mountain", "sea"]


def make_table(n: int = 80, seed: int = 0) -> pd.DataFrame:
    """Numbers, a text column, missing values, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    height, wet = rng.normal(size=n), rng.normal(size=n)
    place = rng.choice(["coast", "inland", "island"], size=n)
    table = pd.DataFrame({"key": [f"r{i}" for i in range(n)], "height": height, "wet": wet, "place": place})
    table["sky"] = (rng.random(n) < 0.8).astype(int)
    table["mountain"] = (height + 0.3 * rng.normal(size=n) > 0).astype(int)
    table["sea"] = ((place != "inland") & (wet > -0.5)).astype(int)
    table.loc[table[LABELS].sum(axis=1) == 0, "sky"] = 1
    table.loc[[3, 11], "wet"] = np.nan
    table.loc[5, "place"] = None
    return table


def repacked(model: bytes, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A model file with some members replaced or added."""
    with zipfile.ZipFile(io.BytesIO(model)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()} | members
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, blob in parts.items():
            archive.writestr(name, blob)
    return buffer.getvalue()


def content_of(model: bytes) -> dict[str, Any]:
    """The JSON part of a model file."""
    with zipfile.ZipFile(io.BytesIO(model)) as archive:
        return json.loads(archive.read("model.json"))


def edited(model: bytes, content: dict[str, Any]) -> bytes:
    """A model file with other JSON, its checksum made right: what someone who knows the format can do."""
    text = json.dumps(content).encode()
    digest = hashlib.sha256(text).hexdigest().encode()
    return repacked(model, {"model.json": text, "model.json.sha256": digest})
