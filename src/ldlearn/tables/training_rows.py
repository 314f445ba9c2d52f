"""Which rows of a table a model was fitted on: a model keeps a sample of the keys of its training
rows."""

import numpy as np

from ldlearn.core.row_groups import Keys

MAX_KEYS = 4096  # that a model keeps


def sample_keys(keys: Keys) -> Keys:
    """The smallest of the keys of rows: the rows of any table that have such small keys are a
    random sample of it."""
    return np.unique(keys)[:MAX_KEYS]


def share_in_training(sample: Keys | None, keys: Keys) -> float:
    """The share of rows that are training rows too; an estimate if more than ``MAX_KEYS`` training
    rows differ."""
    if sample is None or not len(sample):
        return 0.0
    comparable = keys[keys <= sample.max()] if len(sample) >= MAX_KEYS else keys
    return float(np.isin(comparable, sample).mean()) if len(comparable) else 0.0
