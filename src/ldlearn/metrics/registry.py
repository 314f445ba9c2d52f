"""The one place where a metric's name, direction, range and formula are written down."""

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from ldlearn._messages import did_you_mean, nearest_names
from ldlearn.core.simplex import Array
from ldlearn.exceptions import InputError
from ldlearn.metrics.inputs import Convention, apply_convention, check_pair, refuse_entries


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric and all that is known about it.

    Attributes
    ----------
    name : str
        The key in ``METRICS`` or ``LABEL_METRICS``, and the name of the function in
        ``ldlearn.metrics``.
    title : str
        How tables call it.
    formula : str
        Its value for one row, d true and p predicted, c labels.
    greater_is_better : bool
        Direction; ``symbol`` shows it as an arrow.
    function : callable
        ``(D_true, D_pred, *, convention="exact", **options) -> float``, the mean over rows.
    ordinal_only : bool
        Whether it has a meaning only if the labels are ordered.
    clipped_by_pyldl : bool
        Whether ``convention="pyldl"`` clips its arguments.
    against_labels : bool
        Whether the truth is a matrix of 0/1 labels, not of distributions.
    """

    name: str
    title: str
    formula: str
    function: Callable[..., float] = field(repr=False)
    _rows: Callable[..., Array] = field(repr=False)
    greater_is_better: bool = False
    ordinal_only: bool = False
    clipped_by_pyldl: bool = False
    against_labels: bool = False

    @property
    def symbol(self) -> str:
        """The arrow of its direction."""
        return "↑" if self.greater_is_better else "↓"

    @property
    def heading(self) -> str:
        """Title and arrow, for the head of a column."""
        return f"{self.title} {self.symbol}"

    def sort_key(self, value: float) -> tuple[bool, float]:
        """Return what sorts values from best to worst, NaN last."""
        return math.isnan(value), -value if self.greater_is_better else value

    def rows(
        self,
        D_true: ArrayLike,
        D_pred: ArrayLike,
        *,
        convention: Convention = "exact",
        **options: Any,
    ) -> Array:
        """Return the value of every row, shape (n_samples,)."""
        return self._checked_rows(
            *check_pair(D_true, D_pred, unknown=self.against_labels), convention, options
        )

    def _checked_rows(
        self, D_true: Array, D_pred: Array, convention: Convention, options: dict[str, Any]
    ) -> Array:
        if self.against_labels:  # conventions are about zeros of true distributions
            wrong = (D_true != 0) & (D_true != 1) & ~np.isnan(D_true)
            refuse_entries(wrong, D_true, "The truth", "must hold 0/1 labels")
            values = self._rows(D_true, D_pred, **options)
            return np.where(
                np.isnan(D_true).all(axis=1), np.nan, values
            )  # no label of the row is observed
        _check_distributions(D_true, "truth")
        if convention == "exact":  # others measure whatever they are given, as their authors do
            _check_distributions(D_pred, "prediction")
        pair = apply_convention(D_true, D_pred, convention, clipped_by_pyldl=self.clipped_by_pyldl)
        return self._rows(*pair, **options)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name, since what is registered is the same in every process."""
        return get_metric, (self.name,)


# The six that the literature reports since Geng, "Label distribution learning" (2016), which
# compares by all of them.
USUAL_METRICS = ("chebyshev", "clark", "canberra", "kl_divergence", "cosine", "intersection")
# The four of the tables of the DLDL paper, which calls the third one-error.
HEADLINE_METRICS = ("chebyshev", "clark", "threshold_error", "intersection")
# What is shown first where there are 0/1 labels alone.
LABEL_HEADLINE = ("vote_likelihood", "average_precision", "ranking_loss", "top_label_error")


_ROUNDED_SHARES = 0.05  # how far a row of shares may be from 1: ten printed per cents, each rounded


def _check_distributions(D: Array, what: str) -> None:
    """Raise InputError for rows that do not sum to one, such as 0/1 labels, votes or
    percentages."""
    sums = D.sum(axis=1)
    wrong = np.abs(sums - 1.0) > _ROUNDED_SHARES
    if not wrong.any():
        return
    row = int(np.argmax(wrong))
    raise InputError(
        f"The {what} must hold distributions, but row {row} sums to {sums[row]:g} instead of 1; divide each row by its "
        "sum, or for 0/1 labels use a metric against labels such as average_precision."
    )


_BETWEEN_DISTRIBUTIONS: dict[str, Metric] = {}
_AGAINST_LABELS: dict[str, Metric] = {}
METRICS: Mapping[str, Metric] = MappingProxyType(_BETWEEN_DISTRIBUTIONS)
LABEL_METRICS: Mapping[str, Metric] = MappingProxyType(_AGAINST_LABELS)


def register(
    title: str, formula: str, **facts: bool
) -> Callable[[Callable[..., Array]], Callable[..., float]]:
    """Turn a function of two checked matrices that returns row values into a public metric; facts
    as in `Metric`."""

    def decorate(row_values: Callable[..., Array]) -> Callable[..., float]:
        @wraps(row_values)
        def mean_over_rows(
            D_true: ArrayLike,
            D_pred: ArrayLike,
            *,
            convention: Convention = "exact",
            **options: Any,
        ) -> float:
            return mean_of_defined(metric.rows(D_true, D_pred, convention=convention, **options))

        metric = Metric(row_values.__name__, title, formula, mean_over_rows, row_values, **facts)
        _write_docstring(mean_over_rows, row_values, metric)
        (_AGAINST_LABELS if metric.against_labels else _BETWEEN_DISTRIBUTIONS)[metric.name] = metric
        return mean_over_rows

    return decorate


def mean_of_defined(values: Array, weights: Array | None = None) -> float:
    """Return the (weighted) mean of the values that are not NaN; NaN if there are none."""
    defined = ~np.isnan(values)
    if not defined.any():
        return math.nan
    return float(np.average(values[defined], weights=None if weights is None else weights[defined]))


def get_metric(name: str) -> Metric:
    """Return the registered metric of that name.

    Parameters
    ----------
    name : str
        A key of ``METRICS`` or of ``LABEL_METRICS``.

    Returns
    -------
    Metric

    Examples
    --------
    >>> from ldlearn.metrics import get_metric
    >>> metric = get_metric("intersection")
    >>> metric.heading, metric.formula
    ('Intersection ↑', 'sum_j min(d_j, p_j)')
    """
    found = METRICS.get(name) or LABEL_METRICS.get(name)
    if found is not None:
        return found
    query = re.sub("[ -]", "_", str(name).lower())
    advice = did_you_mean(
        nearest_names(query, [*METRICS, *LABEL_METRICS]), f"known are {', '.join(METRICS)}."
    )
    raise InputError(f"There is no metric named {name!r}; {advice}")


def get_scorer(name: str, **options: Any) -> Any:
    """Return a scikit-learn scorer for estimators whose ``predict`` returns distributions.

    Parameters
    ----------
    name : str
        A key of ``METRICS``, or of ``LABEL_METRICS`` where ``y`` contains 0/1 labels.
    **options
        Keyword arguments of the metric, for example ``convention="pyldl"``.

    Returns
    -------
    callable
        ``scorer(estimator, X, D) -> float``, greater is better: metrics that are better when
        smaller are negated, as in scikit-learn's own ``neg_*`` scorers. It can be pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from ldlearn.metrics import get_scorer
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> D = np.hstack([X, 1 - X])
    >>> search = GridSearchCV(Ridge(), {"alpha": [0.1, 10.0]}, scoring=get_scorer("euclidean"))
    >>> search.fit(X, D).best_params_
    {'alpha': 0.1}
    """
    metric = get_metric(name)
    return make_scorer(metric.function, greater_is_better=metric.greater_is_better, **options)


def per_row(
    name: str,
    D_true: ArrayLike,
    D_pred: ArrayLike,
    *,
    convention: Convention = "exact",
    **options: Any,
) -> Array:
    """Return the named metric's value for every row.

    Parameters
    ----------
    name : str
        A key of ``METRICS`` or of ``LABEL_METRICS``.
    D_true, D_pred : array-like of shape (n_samples, n_labels)
        True and predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        What happens to zeros, see the metric.
    **options
        Further keyword arguments of the metric.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> from ldlearn.metrics import per_row
    >>> per_row("chebyshev", [[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5], [0.75, 0.25]])
    array([0.  , 0.25])
    """
    return get_metric(name).rows(D_true, D_pred, convention=convention, **options)


def score_all(
    D_true: ArrayLike,
    D_pred: ArrayLike,
    names: list[str] | tuple[str, ...] | None = None,
    *,
    convention: Convention = "exact",
) -> dict[str, float]:
    """Return the means of several metrics by name.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n_samples, n_labels)
        True and predicted distributions.
    names : sequence of str, optional
        Names of metrics; by default all of ``METRICS`` that need no order of the labels.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        What happens to zeros, for all of them.

    Returns
    -------
    dict of str to float

    Examples
    --------
    >>> from ldlearn.metrics import score_all
    >>> score_all([[0.5, 0.5]], [[0.75, 0.25]], names=["chebyshev", "intersection"])
    {'chebyshev': 0.25, 'intersection': 0.75}
    """
    if names is None:
        names = [name for name, metric in METRICS.items() if not metric.ordinal_only]
    metrics = list(map(get_metric, names))
    # Checked once for all; NaN is let through only if no metric among them would take it for a
    # degree.
    pair = check_pair(D_true, D_pred, unknown=all(metric.against_labels for metric in metrics))
    return {
        metric.name: mean_of_defined(metric._checked_rows(*pair, convention, {}))
        for metric in metrics
    }


_SHARED_SECTIONS = """
Parameters
----------
D_true, D_pred : array-like of shape (n_samples, n_labels)
    {truth} and predicted distributions.
convention : {{"exact", "pyldl", "dldl", "dldl-recovery"}}
    How zeros of distributions are treated, see `ldlearn.metrics`.

Returns
-------
float
    Mean over the rows.
"""


def _write_docstring(
    function: Callable[..., float], row_values: Callable[..., Array], metric: Metric
) -> None:
    """Give the public function its signature and a docstring in which shared sections are not typed
    again."""
    summary, _, rest = inspect.cleandoc(row_values.__doc__ or "").partition("\n\n")
    direction = "Greater" if metric.greater_is_better else "Smaller"
    law = f"For a row: ``{metric.formula}``. {direction} is better."
    truth = "0/1 labels, NaN where one is unknown," if metric.against_labels else "True"
    function.__doc__ = "\n".join([summary, "", law, _SHARED_SECTIONS.format(truth=truth), rest, ""])

    D_true, D_pred, *own = inspect.signature(row_values).parameters.values()
    convention = inspect.signature(function, follow_wrapped=False).parameters["convention"]
    signature = inspect.Signature(
        [
            D_true.replace(annotation="ArrayLike"),
            D_pred.replace(annotation="ArrayLike"),
            convention,
            *own,
        ],
        return_annotation=float,
    )
    function.__signature__ = signature  # type: ignore[attr-defined]
    # doctest skips functions whose globals are another module's, as those of every wrapper are.
    row_values.__globals__.setdefault("__test__", {})[metric.name] = function
    row_values.__globals__.setdefault("__all__", []).append(
        metric.name
    )  # a module of metrics exports no helpers
