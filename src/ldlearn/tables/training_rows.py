"""Which rows of a table a model was fitted on: a model keeps a sample of the keys of its training rows."""

from typing import Any

import numpy as np

from ldlearn.core.row_groups import Keys, mix_bits, row_keys
from ldlearn.core.simplex import Array

MAX_KEYS = 4096  # that a model keeps


def labelled_keys(X: Any, labels: Array) -> Keys:
    """64-bit keys of rows: equal if features and labels are equal."""
    return np.asarray(mix_bits(row_keys(X)) + row_keys(labels))


def sample_keys(keys: Keys) -> Keys:
    """The smallest of the keys: all rows that have such a key, of any table, are a random sample of its rows."""
    return np.unique(keys)[:MAX_KEYS]


def share_in_training(sample: Keys | None, keys: Keys) -> float:
    """The share of rows that are training rows too; an estimate if more than ``MAX_KEYS`` training rows differ."""
    if sample is None or not len(sample):
        return 0.0
    comparable = keys[keys <= sample.max()] if len(sample) >= MAX_KEYS else keys
    return float(np.isin(comparable, sample).mean()) if len(comparable) else 0.0
