"""Table models as ONNX graphs: preprocessing and prediction in one."""

from __future__ import annotations

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
from ldlearn.tables.features import TYPE_HANDLERS
from ldlearn.tables.files import FilePath, write_file
from ldlearn.tables.table_model import TableModel


def export_onnx(model: TableModel, path: FilePath) -> None:
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
    for name, type_ in model.types.columns.items():
        if TYPE_HANDLERS[type_].export is None:
            raise ModelFileError(
                f"dates and texts such as {name!r} cannot be exported, because ONNX has no way to "
                "read them; leave them out when fitting (ignore), or put numbers in their place."
            )
    graph = _Graph(import_optional("onnx", "onnx", "ONNX files"))
    features = []
    for handler in TYPE_HANDLERS.values():
        if handler.export is not None:
            features += handler.export(model.preprocessing, graph)
    X = graph.node("Concat", *features, axis=1)
    degrees = _export_prediction(graph, model.estimator, X)
    write_file(path, graph.serialise(model, degrees))


def _export_prediction(graph: _Graph, estimator: Any, X: str) -> str:
    """The prediction of a fitted estimator for the features X."""
    linear = softmax_coefficients(estimator)
    if linear is not None:
        coef, intercept = linear
        return graph.softmax(X, coef.T, intercept)
    mapped = _map_features(graph, estimator, X)
    if mapped is not None:
        return graph.softmax(mapped, estimator.coef_.T, estimator.intercept_)
    terms = []
    if isinstance(estimator, StackedLDL):
        for weight, models in zip(
            estimator.member_weights_, estimator.members_.values(), strict=True
        ):
            if weight > 0:
                for model in models:
                    P = _export_prediction(graph, model, X)
                    terms.append(graph.node("Mul", P, weight / len(models)))
        return graph.node("Sum", *terms)
    if isinstance(estimator, MLPLDL):
        for V, a, W, b in zip(
            estimator.hidden_coef_,
            estimator.hidden_intercept_,
            estimator.output_coef_,
            estimator.output_intercept_,
            strict=True,
        ):
            P = graph.softmax(graph.node("Tanh", graph.affine(X, V, a)), W, b)
            terms.append(graph.node("Mul", P, 1.0 / len(estimator.hidden_coef_)))
        return graph.node("Sum", *terms)
    if isinstance(estimator, BoostedLDL) and estimator.categorical_features is None:
        intercept = estimator.intercept_
        scores = graph.affine(X, np.zeros((estimator.n_features_in_, len(intercept))), intercept)
        if estimator.trees_ is not None:
            scores = graph.node("Add", scores, _export_trees(graph, estimator, estimator.trees_, X))
        return graph.node("Softmax", scores, axis=-1)
    raise ModelFileError(
        f"{type(estimator).__name__} predicts by something else than a softmax of linear scores, "
        "RBF kernels, networks or trees without categorical features, which is all that can be "
        "exported; fit DLDL or SABFGS."
    )


def _map_features(graph: _Graph, estimator: Any, X: str) -> str | None:
    """The output of a feature map of `StandardScaler` and RBF `Nystroem`; None of another."""
    feature_map = getattr(estimator, "feature_map_", None)
    steps = [feature_map]
    if isinstance(feature_map, Pipeline):
        steps = list(feature_map.named_steps.values())
    offsets = getattr(estimator, "_offsets", None)
    if offsets is not None:
        X = graph.node("Sub", X, offsets)
    for step in steps:
        if isinstance(step, StandardScaler):
            if step.with_mean:
                X = graph.node("Sub", X, step.mean_)
            X = graph.node("Div", X, step.scale_)
        elif isinstance(step, Nystroem) and step.kernel == "rbf":
            Z = to_dense(step.components_)
            squares = graph.node("ReduceSumSquare", X, axes=[1], keepdims=1)
            products = graph.affine(X, -2.0 * Z.T, (Z * Z).sum(axis=1))
            distances = graph.node("Add", squares, products)
            scaled = graph.node("Mul", distances, -(step.gamma or 1.0 / Z.shape[1]))
            X = graph.node("MatMul", graph.node("Exp", scaled), step.normalization_.T)
        else:
            return None
    return X


def _export_trees(graph: _Graph, model: BoostedLDL, trees: Trees, X: str) -> str:
    """Sums of the trees' leaves, by one operator for all trees."""
    is_split = trees.feature >= 0
    left = np.where(is_split, trees.children, 0)
    tree = np.arange(len(is_split))
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
    return graph.ml_node(
        "TreeEnsembleRegressor",
        X,
        **{name: np.asarray(values).tolist() for name, values in attributes.items()},
        nodes_values_as_tensor=graph.tensor(threshold[order]),
        target_weights_as_tensor=graph.tensor(trees.value[leaves]),
    )


class _Graph:
    """A few lines around onnx.helper; nodes and constants are named by their numbers."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def tensor(self, values: Any, name: str | None = None) -> Any:
        dtype = np.int64 if isinstance(values, int) else np.float64
        return self._onnx.numpy_helper.from_array(np.array(values, dtype=dtype, order="C"), name)

    def node(self, operator: str, *inputs: Any, domain: str = "", **attributes: Any) -> str:
        """The output of an operator; inputs are names of outputs, or constants."""
        names = []
        for value in inputs:
            if not isinstance(value, str):
                name = f"constant_{len(self._constants)}"
                self._constants.append(self.tensor(value, name))
                value = name
            names.append(value)
        output = f"{operator}_{len(self._nodes)}"
        make_node = self._onnx.helper.make_node
        self._nodes.append(
            make_node(
                operator,
                names,
                [output],
                domain=domain,
                **attributes,
            )
        )
        return output

    def ml_node(self, operator: str, X: str, **attributes: Any) -> str:
        """The output of an operator of ``ai.onnx.ml``, which is in single precision, as doubles."""
        single = self.node(operator, X, domain="ai.onnx.ml", **attributes)
        return self.node("Cast", single, to=self._onnx.TensorProto.DOUBLE)

    def affine(self, X: str, coef: Any, intercept: Any) -> str:
        return self.node("Add", self.node("MatMul", X, coef), intercept)

    def softmax(self, X: str, coef: Any, intercept: Any) -> str:
        return self.node("Softmax", self.affine(X, coef, intercept), axis=-1)

    def serialise(self, model: TableModel, degrees: str) -> bytes:
        helper = self._onnx.helper
        types = self._onnx.TensorProto
        nodes = [*self._nodes, helper.make_node("Identity", [degrees], ["degrees"])]
        names = {
            "numbers": model.numeric,
            "texts": model.categorical,
            "degrees": model.labels,
        }
        values = []
        for name, columns in names.items():
            if columns:
                shape = [None, len(columns)]
                kind = types.STRING if name == "texts" else types.DOUBLE
                values.append(helper.make_tensor_value_info(name, kind, shape))
        *inputs, output = values
        graph = helper.make_graph(
            nodes,
            "ldlearn",
            inputs,
            [output],
            self._constants,
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="ldlearn")
        helper.set_model_props(made, {key: "\n".join(value) for key, value in names.items()})
        self._onnx.checker.check_model(made)
        return made.SerializeToString()
