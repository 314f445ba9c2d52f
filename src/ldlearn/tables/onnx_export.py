"""Table models as ONNX graphs: preprocessing and prediction in one."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ldlearn._optional_imports import import_optional
from ldlearn.compose import StackedLDL
from ldlearn.core.scaling import to_dense
from ldlearn.core.trees import Trees
from ldlearn.exceptions import ModelFileError
from ldlearn.learning import MLPLDL, BoostedLDL
from ldlearn.tables.description import softmax_coefficients
from ldlearn.tables.features import HANDLERS
from ldlearn.tables.files import write_file
from ldlearn.tables.table_model import TableModel


def export_onnx(model: TableModel, path: str | os.PathLike[str]) -> None:
    """Write a model as an ONNX file that any ONNX runtime can run without Python.

    Inputs are ``numbers``, doubles of shape (n, number of numeric columns), NaN where missing, and
    ``texts``, strings of shape (n, number of text columns), empty where missing; columns in the
    order of ``model.numeric`` and ``model.categorical``. The output is ``degrees``, doubles of
    shape (n, labels); those of trees are computed in single precision.

    Parameters
    ----------
    model : TableModel
        Its estimator must predict by a softmax of scores that are linear (`SABFGS`, ...), or linear
        in the features of an RBF kernel (`DLDL`, `VoteLDL`), or be `MLPLDL`, `BoostedLDL` without
        categorical features, or a `StackedLDL` of such members.
    path : str or path-like

    Raises
    ------
    ModelFileError
        If the model is of another kind, or has columns of dates or prose.
    """
    columns = model.types.columns.items()
    other = [name for name, type_ in columns if HANDLERS[type_].export is None]
    if other:
        raise ModelFileError(
            f"dates and texts such as {other[0]!r} cannot be exported, because ONNX has no way to read them; leave "
            "them out when fitting (ignore), or put numbers in their place."
        )
    graph = _Graph(import_optional("onnx", "onnx", "ONNX files"))
    degrees = _add_prediction(graph, model.estimator, _add_preprocessing(graph, model))
    graph.node("Identity", [degrees], output="degrees")
    write_file(path, graph.serialised(model))


def _add_preprocessing(graph: _Graph, model: TableModel) -> str:
    """What the estimator gets: scaled numbers, and the one-hot code of each categorical column."""
    parts = []
    for handler in HANDLERS.values():
        if handler.export is not None:
            parts += handler.export(model.preprocessing, graph)
    return graph.node("Concat", parts, axis=1)


def _add_prediction(graph: _Graph, estimator: Any, X: str) -> str:
    """The prediction of a fitted estimator for the features X."""
    linear = softmax_coefficients(estimator)
    if linear is not None:
        return graph.softmax(graph.affine(X, linear[0].T, linear[1]))
    feature_map = getattr(estimator, "feature_map_", None)
    steps = (
        [step for _, step in feature_map.steps]
        if isinstance(feature_map, Pipeline)
        else [feature_map]
    )
    if all(
        isinstance(step, StandardScaler | Nystroem) and getattr(step, "kernel", "rbf") == "rbf"
        for step in steps
    ):
        near_zero = (
            X
            if estimator._offsets is None
            else graph.node("Sub", [X, graph.constant(estimator._offsets)])
        )
        mapped = _map_features(graph, steps, near_zero)
        return graph.softmax(graph.affine(mapped, estimator.coef_.T, estimator.intercept_))
    if isinstance(estimator, StackedLDL):
        weights = zip(estimator.member_weights_, estimator.members_.values(), strict=True)
        used = [
            (weight / len(models), model)
            for weight, models in weights
            if weight > 0
            for model in models
        ]
        return graph.weighted_sum(
            [(weight, _add_prediction(graph, model, X)) for weight, model in used]
        )
    if isinstance(estimator, MLPLDL):
        layers = (estimator.hidden_coef_, estimator.hidden_intercept_)
        outputs = (estimator.output_coef_, estimator.output_intercept_)
        hidden = [graph.node("Tanh", [graph.affine(X, V, a)]) for V, a in zip(*layers, strict=True)]
        networks = [
            graph.softmax(graph.affine(H, W, b)) for H, W, b in zip(hidden, *outputs, strict=True)
        ]
        return graph.weighted_sum([(1.0 / len(networks), P) for P in networks])
    if isinstance(estimator, BoostedLDL) and estimator.categorical_features is None:
        scores = graph.affine(
            X, np.zeros((estimator.n_features_in_, len(estimator.intercept_))), estimator.intercept_
        )
        if estimator.trees_ is not None:
            scores = graph.node("Add", [scores, _add_trees(graph, estimator, estimator.trees_, X)])
        return graph.softmax(scores)
    raise ModelFileError(
        f"{type(estimator).__name__} predicts by something else than a softmax of linear scores, RBF kernels, networks "
        "or trees without categorical features, which is all that can be exported; fit DLDL or SABFGS."
    )


def _map_features(graph: _Graph, steps: list[Any], X: str) -> str:
    """The output of a pipeline of `StandardScaler` and `Nystroem` with an RBF kernel."""
    for step in steps:
        if isinstance(step, StandardScaler):
            centred = graph.node("Sub", [X, graph.constant(step.mean_)]) if step.with_mean else X
            X = graph.node("Div", [centred, graph.constant(step.scale_)])
        else:
            Z = to_dense(step.components_)
            squares = graph.node("ReduceSumSquare", [X], axes=[1], keepdims=1)
            distances = graph.node(
                "Add", [squares, graph.affine(X, -2.0 * Z.T, (Z * Z).sum(axis=1))]
            )
            similarities = graph.node(
                "Exp",
                [graph.node("Mul", [distances, graph.constant(-(step.gamma or 1.0 / Z.shape[1]))])],
            )
            X = graph.node("MatMul", [similarities, graph.constant(step.normalization_.T)])
    return X


def _add_trees(graph: _Graph, model: BoostedLDL, trees: Trees, X: str) -> str:
    """Sums of the trees' leaves, by one operator for all trees."""
    is_split = trees.feature >= 0
    n_nodes = len(is_split)
    left = np.where(is_split, trees.children, 0)
    tree = np.arange(n_nodes)
    for node in np.flatnonzero(is_split):
        tree[left[node] : left[node] + 2] = tree[node]
    order = np.argsort(tree, kind="stable")  # the nodes of a tree belong together, its root first
    leaves = order[~is_split[order]]
    threshold = np.where(is_split, trees.value + model.data_min_[trees.feature], 0.0)
    attributes: dict[str, Any] = {
        "n_targets": len(model.intercept_),
        "nodes_treeids": tree[order],
        "nodes_nodeids": order,
        "nodes_modes": np.where(is_split, "BRANCH_LEQ", "LEAF")[order],
        "nodes_featureids": np.maximum(trees.feature, 0)[order],
        "nodes_truenodeids": left[order],
        "nodes_falsenodeids": np.where(is_split, left + 1, 0)[order],
        "target_treeids": tree[leaves],
        "target_nodeids": leaves,
        "target_ids": tree[leaves] % len(model.intercept_),
    }
    attributes = {name: np.asarray(values).tolist() for name, values in attributes.items()}
    attributes["nodes_values_as_tensor"] = graph.tensor(threshold[order])
    attributes["target_weights_as_tensor"] = graph.tensor(trees.value[leaves])
    scores = graph.node("TreeEnsembleRegressor", [X], "ai.onnx.ml", **attributes)
    return graph.as_double(scores)


class _Graph:
    """A few lines around onnx.helper; nodes and constants are named by their numbers."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def tensor(self, values: Any, dtype: type = np.float64, name: str | None = None) -> Any:
        return self._onnx.numpy_helper.from_array(np.array(values, dtype=dtype, order="C"), name)

    def constant(self, values: Any, dtype: type = np.float64) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(self.tensor(values, dtype, name))
        return name

    def node(
        self,
        operator: str,
        inputs: list[str],
        domain: str = "",
        output: str = "",
        **attributes: Any,
    ) -> str:
        output = output or f"{operator}_{len(self._nodes)}"
        self._nodes.append(
            self._onnx.helper.make_node(operator, inputs, [output], domain=domain, **attributes)
        )
        return output

    def as_double(self, name: str) -> str:
        """The operators of ``ai.onnx.ml`` give single precision."""
        return self.node("Cast", [name], to=self._onnx.TensorProto.DOUBLE)

    def affine(self, X: str, coef: Any, intercept: Any) -> str:
        return self.node(
            "Add", [self.node("MatMul", [X, self.constant(coef)]), self.constant(intercept)]
        )

    def softmax(self, scores: str) -> str:
        return self.node("Softmax", [scores], axis=-1)

    def weighted_sum(self, terms: list[tuple[float, str]]) -> str:
        return self.node(
            "Sum", [self.node("Mul", [term, self.constant(weight)]) for weight, term in terms]
        )

    def serialised(self, model: TableModel) -> bytes:
        helper, types = self._onnx.helper, self._onnx.TensorProto
        columns = {
            "numbers": (types.DOUBLE, model.numeric),
            "texts": (types.STRING, model.categorical),
        }
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
