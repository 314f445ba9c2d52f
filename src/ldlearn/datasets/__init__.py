"""Data sets: embedded, generated, catalogued and your own, with one shape for all."""

from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.embedded import load_vader_tweets
from ldlearn.datasets.errors import DatasetError

__all__ = ["DatasetError", "LabelDataset", "load_vader_tweets"]
