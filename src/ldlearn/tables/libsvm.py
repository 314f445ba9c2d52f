"""Multi-label files of LIBSVM, ``label,label index:value index:value``, read and written by scikit-learn."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from ldlearn.exceptions import TableError
from ldlearn.tables.arrays import ArraySource
from ldlearn.tables.files import MOST_NAMES, Input, Output, check_declared
from ldlearn.tables.formats import META, Content, Format, parse_meta

_MARK = "ldlearn "


class LibsvmSource(ArraySource):
    """Features (sparse) and logical labels; label numbers in ascending order become the columns."""

    def __init__(self, given: Input) -> None:
        from sklearn.datasets import load_svmlight_file  # slow to import, and rarely needed
        from sklearn.preprocessing import MultiLabelBinarizer

        comment = _own_comment(given.path)
        known = parse_meta(comment) if comment else {"feature_names": [], "label_names": []}
        # The lines show neither last features that are 0 everywhere, nor whether indices begin at 0.
        own = {"n_features": len(known["feature_names"]), "zero_based": False} if known["feature_names"] else {}
        X, targets = load_svmlight_file(str(given.path), multilabel=True, **own)
        if X.shape[1] > MOST_NAMES:
            raise TableError(f"a feature index is beyond {MOST_NAMES:,}.")
        numbers = sorted({number for row in targets for number in row})
        if not np.isfinite(numbers).all():
            raise TableError("a label is no finite number.")
        if known["label_names"]:
            # Labels that no row has keep their columns.
            if unnamed := set(numbers) - set(range(len(known["label_names"]))):
                raise TableError(f"it has the label {min(unnamed):g}, which has no name.")
            numbers = [float(j) for j in range(len(known["label_names"]))]
        # The labels are made dense.
        check_declared(X.shape[0] * len(numbers), given.size)
        arrays: dict[str, Any] = {
            "X": X,
            "Y": MultiLabelBinarizer(classes=numbers).fit_transform(targets).astype(np.int8),
        }
        if comment:
            arrays[META] = comment
        else:
            arrays["label_names"] = np.array([f"{number:g}" for number in numbers])
            arrays["feature_names"] = np.array([f"x{j}" for j in range(X.shape[1])])
        super().__init__(given, arrays)
        # A single label matrix may hold anything elsewhere; here it can only be 0/1.
        self.labels = {"Y": self._groups["Y"]}


def _own_comment(path: Path) -> str:
    """Names and origin, if the comments at the beginning are ours."""
    with path.open("rb") as file:
        while (line := file.readline(1 << 28)).startswith(b"#"):
            text = line[1:].strip()
            if text.startswith(_MARK.encode()):
                return text[len(_MARK) :].decode()
    return ""


def _write(output: Output, content: Content) -> None:
    """Write features, with sixteen digits, and logical labels; names and origin go into a comment."""
    from sklearn.datasets import dump_svmlight_file

    if "Y" not in content.labels:
        advice = "make them first, e.g. LabelDataset(X, Y=data.logical())."
        raise TableError(f"LIBSVM files hold logical labels only; {advice}")
    X, Y = (scipy.sparse.csr_matrix(matrix) for matrix in (content.X, content.labels["Y"]))
    comment = _MARK + content.meta()
    dump_svmlight_file(_without_empty_rows(X), Y, output.file, zero_based=False, comment=comment, multilabel=True)


def _without_empty_rows(X: Any) -> Any:
    """Give rows of zeros one of them explicitly: a line without labels and features would not be read back."""
    rows = np.flatnonzero(np.diff(X.indptr) == 0)
    made = X.tocoo()
    parts = (np.append(made.data, np.zeros(len(rows))), (np.append(made.row, rows), np.append(made.col, 0 * rows)))
    return scipy.sparse.csr_matrix(parts, shape=X.shape)


LIBSVM = Format("LIBSVM", LibsvmSource, write_content=_write)
