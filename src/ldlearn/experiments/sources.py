"""The data sets of a plan: by name, from a file, or generated."""

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse

from ldlearn import datasets
from ldlearn.core.logical import RULES
from ldlearn.datasets import DatasetError, DatasetNotHereError, LabelDataset
from ldlearn.experiments.toml_table import (
    PlanError,
    Settings,
    TomlTable,
    ValidNames,
    describe_spec,
    option,
)
from ldlearn.tables import ColumnOptions, PreparedTable, ReadingOptions, prepare_table
from ldlearn.tables.files import Dialect, OnMessage, sha256_of

AnyDataset = LabelDataset | PreparedTable

_GENERATORS: dict[str, Callable[..., LabelDataset]] = {
    "artificial": datasets.make_artificial,
    "label_distributions": datasets.make_label_distributions,
}
# Rules that draw votes, anew for each repeat: methods see 0/1 labels, or the counts.
VOTES = "votes"
COUNTS = "counts"
_DIALECT_KEYS = ("delimiter", "decimal", "encoding")
_READ_KEYS = ("features", "labels", "kind", "normalise", *_DIALECT_KEYS)
_TYPE_KEYS = ("numeric", "categorical", "datetime", "text", "ignore")
_TABLE_KEYS = (*_READ_KEYS, "blank", "empty_rows", "id", "groups", *_TYPE_KEYS)


@dataclass(frozen=True)
class Binarisation:
    """What methods see instead of the degrees.

    0/1 labels by a rule of `ldlearn.core.binarize` or by the votes of ``k`` raters, or counts of
    votes.
    """

    rule: str = option("threshold", valid=(*RULES, VOTES, COUNTS))
    threshold: float = option(0.01, kind=float)
    total: float = option(0.5, kind=float)
    k: int | None = option(None, kind=int, minimum=1)


@dataclass(frozen=True)
class DatasetSpec:
    """A data set of a plan.

    Attributes
    ----------
    name : str
        A name of the catalogue, or any name if there is a ``path`` or a ``generator``.
    rows : int or None
        Use only this many rows, drawn with the seed of the protocol.
    path, sha256, read
        File, its checksum and the keyword arguments of `ldlearn.datasets.read_dataset`.
    preprocess : bool
        Whether the columns of the file are treated as `ldlearn fit` treats them: texts, dates,
        missing values; what is learned from them is learned from the training rows. Then ``read``
        has those of `ldlearn.tables.prepare_table`.
    generator, params
        ``"artificial"`` or ``"label_distributions"``, and the arguments of that function of
        `ldlearn.datasets`.
    binarisation : dict
        Rule and parameters that replace those of the protocol for this data set.
    """

    name: str
    rows: int | None = option(None, kind=int, minimum=10)
    path: str | None = option(None)
    sha256: str | None = option(None)
    read: Settings = field(default_factory=dict)
    preprocess: bool = option(False, kind=bool)
    generator: str | None = option(None, valid=_GENERATORS)
    params: Settings = field(default_factory=dict)
    binarisation: Settings = field(default_factory=dict)

    def to_dict(self) -> Settings:
        """The table of a plan that describes it."""
        content = asdict(self)
        content |= content.pop("read") | content.pop("binarisation")
        return describe_spec(content)

    def load(self, seed: int = 0, *, needs_truth: bool = True) -> AnyDataset:
        """Read or generate the data.

        Parameters
        ----------
        seed : int
            Seed with which ``rows`` are drawn.
        needs_truth : bool
            Whether it must have label distributions; otherwise 0/1 labels are sufficient.

        Raises
        ------
        DatasetNotHereError
            If it is not on this machine; nothing is downloaded during a run.
        """
        data = self._load()
        if data.D is None and needs_truth:
            raise DatasetError(
                f'{self.name!r} has no degrees to select by; write mode = "logical" under '
                "[selection]."
            )
        if isinstance(data, LabelDataset):
            _check_features(data)
        if self.rows is None or self.rows >= data.n_samples:
            return data
        # The first of one permutation: more rows of the same seed only add to fewer.
        rows = np.random.default_rng(seed).permutation(data.n_samples)[: self.rows]
        return data.take(np.sort(rows))

    def _load(self) -> AnyDataset:
        if self.generator is not None:
            return _GENERATORS[self.generator](**self.params)
        if self.path is None:
            # A run never downloads; an absent data set is recorded as missing, and tried again by
            # the next run.
            return datasets.fetch_dataset(self.name, download=False)
        if not Path(self.path).is_file():
            raise DatasetNotHereError(
                f"The file {self.path} of data set {self.name!r} is not here."
            )
        if self.preprocess:
            return self.prepare()
        checksum = f"sha256:{self.sha256}" if self.sha256 else None
        return datasets.read_dataset(self.path, name=self.name, checksum=checksum, **self.read)

    def prepare(self, on_message: OnMessage | None = None) -> PreparedTable:
        """Read a file as `ldlearn fit` does.

        ``on_message`` receives messages, which otherwise are warnings.
        """
        read = dict(self.read)
        dialect = Dialect(**{key: read.pop(key) for key in _DIALECT_KEYS if key in read})
        return prepare_table(
            str(self.path),
            read.pop("labels"),
            kind=read.pop("kind", "auto"),
            name=self.name,
            columns=ColumnOptions(**read),
            reading=ReadingOptions(dialect=dialect, on_message=on_message),
        )


# Of a feature; as a Python float it would overflow in comparisons with float32.
_LARGEST = np.float64(1e100)


def _check_features(data: LabelDataset) -> None:
    """Refuse missing values, and numbers whose squares could overflow.

    Rows count from 1, as in a file.
    """
    values = data.X.data if scipy.sparse.issparse(data.X) else data.X
    if (np.abs(values) <= _LARGEST).all():
        return
    rows, columns, values = scipy.sparse.find(data.X)
    # "not at most", since NaN is not larger than anything either.
    invalid = ~(np.abs(values) <= _LARGEST)
    row, column = min(zip(rows[invalid], columns[invalid], strict=True))
    problem = "the value is too large"
    if np.isnan(data.X[row, column]):
        problem = "the value is missing; fill it in"
    raise DatasetError(
        f"{data.name!r}, row {row + 1}, column {data.feature_names[column]!r}: {problem}, or "
        "leave the row out."
    )


def read_datasets(plan: TomlTable, folder: Path) -> tuple[DatasetSpec, ...]:
    """The ``datasets`` of a plan: a list of names, or a table with options for each."""
    given = plan.get_raw("datasets")
    if isinstance(given, list):
        given = {name: {} for name in plan.get_texts("datasets")}
    if not given:
        raise plan.error(
            "datasets", 'name at least one data set, for instance datasets = ["vader_tweets"].'
        )
    tables = TomlTable(given, "datasets")
    return tuple(_read_dataset(name, tables.get_table(name), folder) for name in tables.entries())


def _read_dataset(name: str, table: TomlTable, folder: Path) -> DatasetSpec:
    options = table.get_options(DatasetSpec)
    path = options.get("path")
    generator = options.get("generator")
    preprocess = options.get("preprocess")
    if path is None and generator is None:
        try:
            datasets.dataset_name(name)
        except DatasetError as error:
            raise PlanError(f'{table.path}: {error} A file of yours needs path = "...".') from None
    if preprocess and (path is None or "labels" not in table):
        problem = "only a file with named labels has columns to preprocess; give path and labels."
        raise table.error("preprocess", problem)
    if path is not None:
        file = (folder / path).expanduser().resolve()
        given = options.get("sha256")
        # The checksum of the file, so that records of other content do not count for the plan.
        checksum = sha256_of(file) if file.is_file() else given
        if given not in (None, checksum):
            problem = f"the file {file} has changed; remove the key to use it as it is."
            raise table.error("sha256", problem)
        keys = _TABLE_KEYS if preprocess else _READ_KEYS
        options |= {"path": str(file), "sha256": checksum, "read": table.get_present(keys)}
    parameters: ValidNames = ()
    if generator is not None:
        parameters = inspect.signature(_GENERATORS[generator]).parameters
    params = table.get_table("params").entries(parameters, "parameter")
    # Unchecked values as the plan has them: they are part of the keys of cells.
    binarisation = table.get_present(table.get_options(Binarisation))
    table.check_all_read()
    return DatasetSpec(name, params=params, binarisation=binarisation, **options)
