"""Linear table models as ONNX graphs: preprocessing, scores and softmax in one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn.exceptions import ModelFileError, import_optional
from ldlearn.tables.files import writing
from ldlearn.tables.linear import Matrix, linear_softmax
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.values import TRUTH_SPELLINGS


def export_onnx(model: TableModel, path: str | os.PathLike[str]) -> None:
    """Write a linear model as an ONNX file that any ONNX runtime can run without Python.

    Inputs are ``numbers``, doubles of shape (n, number of numeric columns), NaN where missing, and ``texts``, strings
    of shape (n, number of text columns), empty where missing; columns in the order of ``model.numeric`` and
    ``model.categorical``. The output is ``degrees``, doubles of shape (n, labels).

    Parameters
    ----------
    model : TableModel
        Its estimator must predict by a softmax of linear scores (`DLDL` without a feature map, `SABFGS`, ...).
    path : str or path-like

    Raises
    ------
    ModelFileError
        If the model is not linear, or has columns of dates or prose.
    """
    found = linear_softmax(model.estimator)
    if found is None:
        raise ModelFileError(
            f"{type(model.estimator).__name__} predicts by more than a softmax of linear scores, which is all that "
            "can be exported; fit DLDL without a feature map, or SABFGS."
        )
    other = [*model.dates, *model.texts]
    if other:
        raise ModelFileError(
            f"dates and texts such as {other[0]!r} cannot be exported, because ONNX has no way to read them; leave "
            "them out when fitting (ignore), or put numbers in their place."
        )
    graph = _Graph(import_optional("onnx", "onnx", "ONNX files"))
    graph.node("Softmax", [_scores(graph, model, *found)], "degrees", axis=-1)
    with writing(Path(path)) as file:
        file.write(graph.serialised(model))


def _scores(graph: _Graph, model: TableModel, coef: Matrix, intercept: Matrix) -> str:
    coef = coef.T  # one row for each feature
    total = graph.constant("intercept", intercept)
    n_numbers = len(model.numeric)
    if n_numbers:
        steps = model.preprocessing
        # Scaling is part of the weights: ((x - mean) / scale) coef = x (coef / scale) - (mean / scale) coef.
        weights = coef[:n_numbers] / steps.scales[:, None]
        total = graph.add(total, graph.constant("shift", -(steps.means / steps.scales) @ coef[:n_numbers]))
        missing = graph.node("IsNaN", ["numbers"], "missing")
        filled = graph.node("Where", [missing, graph.constant("medians", steps.medians), "numbers"], "filled")
        total = graph.add(total, graph.node("MatMul", [filled, graph.constant("weights", weights)], "from_numbers"))
    return _add_texts(graph, model, coef[n_numbers:], total)


def _add_texts(graph: _Graph, model: TableModel, coef: Matrix, total: str) -> str:
    """Add the scores of each text column: its one-hot code times its weights."""
    first, steps = 0, model.preprocessing
    for j, (values, mode) in enumerate(zip(steps.categories, steps.modes, strict=True)):
        weights = coef[first : first + len(values)]
        first += len(values)
        # An empty text is one more value, with the weights of the value that missing ones get; so is another spelling.
        alike = {"": mode}
        alike |= {other: usual for other, usual in TRUTH_SPELLINGS.items() if usual in values}
        same = [weights[values.index(usual)] for usual in alike.values()]
        column = graph.node("Gather", ["texts", graph.constant(f"column_{j}", j, np.int64)], f"text_{j}", axis=1)
        # zeros=1: a text never seen in training gets zeros, as in Python, and no error.
        code = graph.node(
            "OneHotEncoder", [column], f"code_{j}", domain="ai.onnx.ml", cats_strings=[*values, *alike], zeros=1
        )
        # The encoder gives single precision.
        code = graph.node("Cast", [code], f"double_{j}", to=graph.double)
        table = graph.constant(f"weights_{j}", np.vstack([weights, *same]))
        total = graph.add(total, graph.node("MatMul", [code, table], f"from_text_{j}"))
    return total


class _Graph:
    """A few lines around onnx.helper."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self.double = onnx.TensorProto.DOUBLE

    def constant(self, name: str, values: Any, dtype: type = np.float64) -> str:
        self._constants.append(self._onnx.numpy_helper.from_array(np.array(values, dtype=dtype, order="C"), name))
        return name

    def node(self, operator: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        self._nodes.append(self._onnx.helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def add(self, a: str, b: str) -> str:
        return self.node("Add", [a, b], f"sum_{len(self._nodes)}")

    def serialised(self, model: TableModel) -> bytes:
        helper, types = self._onnx.helper, self._onnx.TensorProto
        columns = {"numbers": (types.DOUBLE, model.numeric), "texts": (types.STRING, model.categorical)}
        inputs = [
            helper.make_tensor_value_info(name, kind, [None, len(names)])
            for name, (kind, names) in columns.items()
            if names
        ]
        output = helper.make_tensor_value_info("degrees", types.DOUBLE, [None, len(model.labels)])
        graph = helper.make_graph(self._nodes, "ldlearn", inputs, [output], self._constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="ldlearn")
        names = {"numbers": model.numeric, "texts": model.categorical, "degrees": model.labels}
        helper.set_model_props(made, {key: "\n".join(value) for key, value in names.items()})
        self._onnx.checker.check_model(made)
        return bytes(made.SerializeToString())
