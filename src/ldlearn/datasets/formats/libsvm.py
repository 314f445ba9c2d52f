"""Multi-label files in the format of LIBSVM: ``label,label index:value index:value``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.formats.columns import Columns, find_columns
from ldlearn.datasets.formats.content import Content, meta_of, parse_meta
from ldlearn.datasets.formats.limits import MOST_NAMES, check_declared
from ldlearn.errors import DatasetError

_MARK = "# ldlearn "
_INDEX = re.compile(rb"\s(\d+):")


def read_libsvm(path: Path, features: Columns, labels: Columns, _max_bytes: int) -> Content:
    """Features (sparse) and logical labels; label numbers in ascending order become the columns."""
    from sklearn.datasets import load_svmlight_file  # slow to import, and rarely needed

    meta = _own_meta(path)
    _check_indices(path)
    own = {"n_features": len(meta["feature_names"]), "zero_based": False} if meta["feature_names"] else {}
    X, targets = load_svmlight_file(str(path), multilabel=True, **own)
    numbers = sorted({number for row in targets for number in row})
    if not np.isfinite(numbers).all():
        raise DatasetError("a label is no finite number")
    if meta["label_names"]:
        numbers = list(range(len(meta["label_names"])))
    names = meta["label_names"] or [f"{number:g}" for number in numbers]
    check_declared(X.shape[0] * len(numbers), path.stat().st_size, path)
    Y = _indicator(targets, numbers)
    if labels is not None:
        chosen = find_columns(names, labels, str(path))
        Y, names = Y[:, chosen], [names[i] for i in chosen]
    feature_names = meta["feature_names"]
    if features is not None:
        default = [f"x{i}" for i in range(X.shape[1])]
        chosen = find_columns(feature_names or default, features, str(path))
        X, feature_names = X[:, chosen], [(feature_names or default)[i] for i in chosen]
    return Content(X, {"logical": Y}, feature_names, names, meta["texts"])


def _own_meta(path: Path) -> dict[str, Any]:
    """Names and origin, if the first line is the comment that `write_libsvm` puts there."""
    with path.open("rb") as file:
        first = file.readline(1 << 28)
    if not first.startswith(_MARK.encode()):
        return {"feature_names": [], "label_names": [], "texts": {}}
    return parse_meta(first[len(_MARK) :].decode())


def _check_indices(path: Path) -> None:
    """Refuse an index that would make names for millions of features that are not there."""
    with path.open("rb") as file:
        for line in file:
            if line.startswith(b"#"):
                continue
            for index in _INDEX.findall(line):
                if len(index) > 18 or int(index) > MOST_NAMES:
                    raise DatasetError(f"the feature index {index[:30].decode()} is beyond {MOST_NAMES:,}")


def _indicator(targets: list[tuple[float, ...]], numbers: list[float]) -> NDArray[np.int8]:
    column = {number: j for j, number in enumerate(numbers)}
    Y = np.zeros((len(targets), len(numbers)), dtype=np.int8)
    for i, row in enumerate(targets):
        for number in row:
            if number not in column:
                raise DatasetError(f"row {i} has the label {number:g}, which has no name")
            Y[i, column[number]] = 1
    return Y


def write_libsvm(data: LabelDataset, path: Path) -> None:
    """Write features and logical labels; names and origin go into a comment on the first line."""
    if data.Y is None:
        raise DatasetError(
            "LIBSVM files hold logical labels only; make them first, e.g. LabelDataset(X, Y=data.logical())."
        )
    X = scipy.sparse.csr_matrix(data.X)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(_MARK + json.dumps(json.loads(meta_of(data))) + "\n")
        for i in range(data.n_samples):
            labels = ",".join(map(str, np.flatnonzero(data.Y[i])))
            start, stop = X.indptr[i], X.indptr[i + 1]
            entries = sorted(zip(X.indices[start:stop].tolist(), X.data[start:stop].tolist(), strict=True))
            cells = " ".join(f"{column + 1}:{value!r}" for column, value in entries or [(0, 0.0)])
            file.write(f"{labels} {cells}\n")
