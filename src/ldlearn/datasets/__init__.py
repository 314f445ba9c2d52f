"""Data sets: embedded, generated, catalogued and your own, with one shape for all."""

from ldlearn.datasets.artificial import artificial_distribution, artificial_picture, make_artificial
from ldlearn.datasets.catalogue import DatasetInfo
from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.embedded import (
    load_uk_budget_shares,
    load_vader_texts,
    load_vader_tweets,
    load_yeast,
)
from ldlearn.datasets.fetch import (
    DatasetNotHereError,
    MirrorCheck,
    check_mirrors,
    dataset_info,
    dataset_name,
    fetch_dataset,
    list_datasets,
)
from ldlearn.datasets.files import read_dataset, write_dataset
from ldlearn.datasets.generated import (
    iter_label_distributions,
    make_label_distributions,
    make_logical_labels,
)
from ldlearn.exceptions import DatasetError
from ldlearn.tables.annotations import Annotations, read_annotations

__all__ = [
    "LabelDataset", "DatasetError", "DatasetNotHereError",
    "load_vader_tweets", "load_vader_texts", "load_uk_budget_shares", "load_yeast",
    "make_artificial", "artificial_distribution", "artificial_picture",
    "make_label_distributions", "make_logical_labels", "iter_label_distributions",
    "list_datasets", "dataset_info", "dataset_name", "DatasetInfo", "fetch_dataset",
    "check_mirrors", "MirrorCheck",
    "read_dataset", "write_dataset", "read_annotations", "Annotations",
]  # fmt: skip
