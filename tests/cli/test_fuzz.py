"""Mutated tables and model files give a one-line message and an exit code, never a traceback."""

from __future__ import annotations

import io
import os
import warnings

import numpy as np
import pandas as pd
import pytest
from example_tables import LABELS, content_of, edited, make_table

SEEDS = 40
TOKENS = (
    b",",
    b'"',
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff",
    b"NaN",
    b"inf",
    b"1e999",
    b"-1",
    b";",
    b"\t",
    b"{",
    b"]",
    b"",
    b"0x1p3",
)


def mutate(blob: bytes, rng: np.random.Generator) -> bytes:
    """Flip bits, cut, repeat, insert: one to four times."""
    for _ in range(rng.integers(1, 5)):
        a, b = sorted(rng.integers(0, len(blob) + 1, size=2).tolist())
        b = min(b, a + int(rng.integers(1, 200)))
        kind = rng.integers(5)
        if kind == 0 and a < len(blob):
            blob = blob[:a] + bytes([blob[a] ^ (1 << int(rng.integers(8)))]) + blob[a + 1 :]
        elif kind == 1:
            blob = blob[:a] + blob[b:]
        elif kind == 2:
            blob = blob[:b] + blob[a:b] * int(rng.integers(1, 4)) + blob[b:]
        elif kind == 3:
            blob = blob[:a] + TOKENS[int(rng.integers(len(TOKENS)))] + blob[a:]
        else:
            blob = blob[:a] if rng.random() < 0.3 else blob[:a] + rng.bytes(b - a) + blob[b:]
        if not blob:
            return b""
    return blob


def tables() -> dict[str, bytes]:
    table = make_table(40)
    parquet, npz = io.BytesIO(), io.BytesIO()
    table.to_parquet(parquet)
    np.savez(
        npz,
        **{
            c: table[c].fillna("").to_numpy(str) if c in ("key", "place") else table[c].to_numpy()
            for c in table
        },
    )
    return {
        "csv": table.to_csv(index=False).encode(),
        "tsv": table.to_csv(index=False, sep="\t").encode(),
        "jsonl": table.to_json(orient="records", lines=True).encode(),
        "parquet": parquet.getvalue(),
        "npz": npz.getvalue(),
    }


def check_no_traceback(result) -> None:
    assert result.code in (0, 2), result.err
    for forbidden in ("Traceback", "fault of ldlearn"):
        assert forbidden not in result.err, result.err
    if result.code == 2:
        assert result.err.startswith("ldlearn: ") or "\nldlearn: " in result.err


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet", "npz"])
def test_mutated_tables_cause_no_traceback(format, model, run):
    blob = tables()[format]
    codes = set()
    for seed in range(SEEDS):
        name = f"new.{format}"
        with open(name, "wb") as file:
            file.write(mutate(blob, np.random.default_rng(seed)))
        result = run("predict", name, "-m", model, "-o", "out.csv")
        check_no_traceback(result)
        codes.add(result.code)
        if result.code == 0:
            found = pd.read_csv("out.csv")[LABELS].to_numpy(dtype=float)
            np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-9)
        if seed % 8 == 0:
            check_no_traceback(
                run(
                    "fit",
                    name,
                    "-l",
                    "sky,mountain,sea",
                    "--id",
                    "key",
                    "-o",
                    "new.ldl",
                    "--holdout",
                    "0",
                )
            )
            check_no_traceback(run("evaluate", name, "-m", model))
    assert 2 in codes
    assert not [leftover for leftover in os.listdir(".") if leftover.startswith(".")]


def test_mutated_model_files_cause_no_traceback(model, model_bytes, run):
    for seed in range(3 * SEEDS):
        with open("bad.ldl", "wb") as file:
            file.write(mutate(model_bytes, np.random.default_rng(seed)))
        check_no_traceback(run("inspect", "bad.ldl"))


def json_paths(value, path=()):
    """The path of every value in nested JSON."""
    yield path
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, child in children:
        yield from json_paths(child, (*path, key))


REPLACEMENTS = (
    None,
    -1,
    2**70,
    1e308,
    "x",
    [],
    {},
    {"array": 0},
    {"tuple": []},
    True,
    [[1]],
)


def test_model_files_with_valid_checksums_and_mutated_json(model, model_bytes, run):
    """The checksums are valid but the JSON is not, so that the decoder and the checks on loading
    must reject it."""
    rng = np.random.default_rng(0)
    places = [
        place
        for place in json_paths(content_of(model_bytes))
        if place and place[0] in ("model", "probe")
    ]
    refused = 0
    for k in rng.choice(len(places), size=3 * SEEDS):
        content = content_of(model_bytes)
        *parents, last = places[k]
        inner = content
        for step in parents:
            inner = inner[step]
        inner[last] = REPLACEMENTS[int(rng.integers(len(REPLACEMENTS)))]
        with open("bad.ldl", "wb") as file:
            file.write(edited(model_bytes, content))
        for arguments in (
            ("inspect", "bad.ldl"),
            ("predict", "data.csv", "-m", "bad.ldl", "-o", "out.csv"),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # warnings are allowed
                result = run(*arguments)
            check_no_traceback(result)
        refused += result.code == 2
    assert refused > SEEDS
