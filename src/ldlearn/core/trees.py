"""Decision trees as arrays: conversion from LightGBM, validation, and sums of leaf scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.scaling import row_batches, to_dense
from ldlearn.core.simplex import Array
from ldlearn.exceptions import ModelFileError

MAX_DEPTH = 500
_MISSING_LEFT = 1
_CATEGORICAL = 2
_BLOCK_PATHS = 1 << 16  # pairs of a row and a tree that are followed at a time


@dataclass(frozen=True)
class Trees:
    """A forest of binary decision trees.

    The roots come first, in the order of the trees; the children of the k-th split are the nodes
    ``n_trees + 2 k`` (left) and ``n_trees + 2 k + 1`` (right). Children therefore need not be
    stored.

    Attributes
    ----------
    feature : ndarray of int of shape (n_nodes,)
        The column that a split tests; -1 for a leaf.
    value : ndarray of shape (n_nodes,)
        The threshold of a numeric split, up to which rows go left; the number of the set of
        categories of a categorical split, whose members go left; the score of a leaf.
    kind : ndarray of int of shape (n_nodes,)
        Of a split: 0 or 1 if it is numeric and missing values go right or left; 2 if it is
        categorical, where missing and unknown categories go right.
    set_bounds : ndarray of int of shape (n_sets + 1,)
        Set k of categories is ``set_words[set_bounds[k]:set_bounds[k + 1]]``.
    set_words : ndarray of int of shape (n_words,)
        Bit sets of categories, 32 in each number.
    """

    learned: ClassVar = {
        "feature": "int (n_nodes)",
        "value": "float (n_nodes)",
        "kind": "int (n_nodes)",
        "set_bounds": "int (n_bounds)",
        "set_words": "int (n_words)",
    }

    feature: NDArray[Any]
    value: Array
    kind: NDArray[Any]
    set_bounds: NDArray[Any]
    set_words: NDArray[Any]

    def __post_init__(self) -> None:
        is_split = self.feature >= 0
        n_splits_before = np.append(0, np.cumsum(is_split))
        n_trees = self.n_trees
        # Each level ends where the children of the level before it end.
        end = max(n_trees, 0)
        for _ in range(MAX_DEPTH):
            end = n_trees + 2 * n_splits_before[end]
        bounds = self.set_bounds.astype(np.intp)
        sets = self.value[is_split & (self.kind == _CATEGORICAL)]
        is_sound = (
            n_trees > 0
            and end == len(is_split)
            and np.isin(self.kind, [0, _MISSING_LEFT, _CATEGORICAL]).all()
            and len(bounds) > 0
            and bounds[0] == 0
            and bounds[-1] == len(self.set_words)
            and (np.diff(bounds) > 0).all()
            and ((sets >= 0) & (sets < len(bounds) - 1)).all()
        )
        if not is_sound:
            raise ModelFileError("its trees are damaged")

    @classmethod
    def from_lightgbm(cls, booster: Any) -> Self:
        """The trees of a booster that was trained in this process without ``zero_as_missing``."""
        text = booster.model_to_string().partition("\nend of trees")[0]
        trees = []
        for tree in text.split("\nTree=")[1:]:
            lines = [line.partition("=") for line in tree.splitlines()]
            trees.append({name: value for name, _, value in lines})

        def concatenate(name: str, dtype: type = np.int64) -> NDArray[Any]:
            lines = [tree.get(name, "") for tree in trees]
            return np.array(" ".join(lines).split(), dtype)

        n_leaves = concatenate("num_leaves")
        n_splits = n_leaves - 1
        n_sets = concatenate("num_cat")
        all_splits = n_splits.sum()
        first_split = np.cumsum(n_splits) - n_splits
        first_leaf = all_splits + np.cumsum(n_leaves) - n_leaves  # leaves are numbered after splits
        first_set = np.cumsum(n_sets) - n_sets
        tree = np.repeat(np.arange(len(trees)), n_splits)

        children = np.column_stack([concatenate("left_child"), concatenate("right_child")])
        leaves = first_leaf[tree, None] + ~children
        children = np.where(children < 0, leaves, first_split[tree, None] + children)
        order = []
        level = np.where(n_splits > 0, first_split, first_leaf)
        while len(level):
            order.append(level)
            level = children[level[level < all_splits]].ravel()

        threshold = concatenate("threshold", np.float64)
        decision = concatenate("decision_type")
        is_categorical = decision % 2 == 1
        threshold[is_categorical] += first_set[tree[is_categorical]]
        # LightGBM takes a missing value for 0 if the feature had none in training.
        knows_missing = decision >> 2 == 2
        missing_left = np.where(knows_missing, decision & 2 > 0, threshold >= 0)
        kind = np.where(is_categorical, _CATEGORICAL, missing_left * _MISSING_LEFT)

        nodes = np.concatenate(order)
        zeros = np.zeros(n_leaves.sum(), dtype=int)
        feature = np.append(concatenate("split_feature"), zeros - 1)
        value = np.append(threshold, concatenate("leaf_value", np.float64))
        kind = np.append(kind, zeros).astype(np.int8)
        # The bounds of each tree begin with 0.
        set_sizes = np.diff(concatenate("cat_boundaries"))
        set_bounds = np.cumsum(set_sizes[set_sizes > 0])
        return cls(
            feature=feature[nodes],
            value=value[nodes],
            kind=kind[nodes],
            set_bounds=np.append(0, set_bounds),
            set_words=concatenate("cat_threshold").astype(np.uint32),
        )

    @property
    def n_trees(self) -> int:
        """Number of trees: a split has two children, and a root is no child."""
        return len(self.feature) - 2 * int((self.feature >= 0).sum())

    @property
    def children(self) -> NDArray[np.intp]:
        """The left child of each split, which the right one follows; meaningless for leaves."""
        return self.n_trees + 2 * np.cumsum(self.feature >= 0) - 2

    def sum_scores(self, X: Any, offsets: Array, n_labels: int) -> Array:
        """Sums of the scores of the leaves that rows reach; tree t adds to label ``t % n_labels``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        offsets : array of shape (n_features,)
            Subtracted from the features.
        n_labels : int
        """
        is_split = self.feature >= 0
        n_trees = self.n_trees
        children = self.children
        tested = self.feature[is_split].astype(np.intp)
        used, inverse = np.unique(tested, return_inverse=True)
        column = np.zeros(len(is_split), np.intp)
        column[is_split] = inverse
        missing_right = self.kind != _MISSING_LEFT
        has_sets = len(self.set_words) > 0
        scores = np.empty((X.shape[0], n_labels))
        for rows in row_batches(len(scores), n_trees, _BLOCK_PATHS):
            block = to_dense(X[rows][:, used]) - offsets[used]
            # Position of each row in the flat block.
            first = np.arange(len(block)) * len(used)
            first = np.repeat(first, n_trees)
            reached = np.tile(np.arange(n_trees), len(block))
            running = np.flatnonzero(is_split.take(reached))
            while len(running):
                node = reached.take(running)
                x = block.take(first.take(running) + column.take(node))
                goes_right = x > self.value.take(node)
                goes_right |= np.isnan(x) & missing_right.take(node)
                if has_sets:
                    at_set = np.flatnonzero(self.kind.take(node) == _CATEGORICAL)
                    sets = self.value.take(node.take(at_set))
                    goes_right[at_set] = ~self._category_sets_contain(sets, x.take(at_set))
                node = children.take(node) + goes_right
                reached[running] = node
                running = running[is_split.take(node)]
            leaf_scores = self.value.take(reached).reshape(len(block), -1, n_labels)
            scores[rows] = leaf_scores.sum(axis=1)
        return scores

    def _category_sets_contain(self, sets: Array, x: Array) -> NDArray[np.bool_]:
        """Whether sets of categories contain numbers.

        As in LightGBM, the numbers are rounded towards 0.
        """
        whole = np.trunc(x)
        is_code = (whole >= 0) & (whole < 2**31)
        code = np.where(is_code, whole, 0).astype(np.intp)
        bounds = self.set_bounds.astype(np.intp)
        number = sets.astype(np.intp)
        word = bounds.take(number) + (code >> 5)
        is_code &= word < bounds.take(number + 1)
        bits = self.set_words.take(word, mode="clip").astype(np.int64)
        return is_code & (bits >> (code & 31) & 1 == 1)
