"""Which rows of a table a model was fitted on, by a sample of the keys of its training rows."""

import numpy as np

from ldlearn.core.row_groups import Keys

_MAX_KEYS = 4096  # that a model keeps


def sample_keys(keys: Keys) -> Keys:
    """The smallest of the keys of rows.

    The rows of any table that have such small keys are a random sample of it.
    """
    return np.unique(keys)[:_MAX_KEYS]


def share_in_training(sample: Keys | None, keys: Keys) -> float:
    """The share of rows that are training rows too; an estimate if there are many of these."""
    if sample is None:
        return 0.0
    if len(sample) >= _MAX_KEYS:
        keys = keys[keys <= sample.max()]
    return np.isin(keys, sample).sum() / max(len(keys), 1)
