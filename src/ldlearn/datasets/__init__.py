"""Data sets: embedded, generated, catalogued and your own, with one shape for all."""

from ldlearn.datasets.artificial import (
    DecorrelationStretch,
    artificial_distribution,
    artificial_picture,
    make_artificial,
)
from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.embedded import load_vader_tweets
from ldlearn.datasets.errors import DatasetError
from ldlearn.datasets.generated import iter_label_distributions, make_label_distributions

__all__ = [
    "LabelDataset",
    "DatasetError",
    "load_vader_tweets",
    "make_artificial",
    "artificial_distribution",
    "artificial_picture",
    "DecorrelationStretch",
    "make_label_distributions",
    "iter_label_distributions",
]
