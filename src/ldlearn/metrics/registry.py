"""The table of all metrics, with title, formula and direction, and access to them by name."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from ldlearn._messages import did_you_mean, nearest_names
from ldlearn.core.simplex import Array
from ldlearn.exceptions import InputError
from ldlearn.metrics import against_labels, distributions, labels, ordinal
from ldlearn.metrics.inputs import Convention


@dataclass(frozen=True)
class Metric:
    """A metric and all that is known about it.

    Attributes
    ----------
    function : callable
        ``(D_true, D_pred, *, convention="exact", per_row=False, **options)``: the mean over rows,
        or the value of every row.
    title : str
        How tables call it.
    formula : str
        Its value for one row, d true and p predicted, c labels.
    greater_is_better : bool
        Direction; ``symbol`` shows it as an arrow.
    ordinal_only : bool
        Whether it has a meaning only if the labels are ordered.
    against_labels : bool
        Whether the truth is a matrix of 0/1 labels, not of distributions.
    """

    function: Callable[..., Any] = field(repr=False)
    title: str
    formula: str
    greater_is_better: bool = False
    ordinal_only: bool = False
    against_labels: bool = False

    @property
    def name(self) -> str:
        """The name of its function, its key in ``METRICS`` or ``LABEL_METRICS``."""
        return self.function.__name__

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


_TABLE = (
    Metric(distributions.chebyshev, "Chebyshev", "max_j |d_j - p_j|"),
    Metric(distributions.clark, "Clark", "sqrt(sum_j (d_j - p_j)^2 / (d_j + p_j)^2)"),
    Metric(distributions.canberra, "Canberra", "sum_j |d_j - p_j| / (d_j + p_j)"),
    Metric(distributions.kl_divergence, "Kullback-Leibler", "sum_j d_j ln(d_j / p_j)"),
    Metric(distributions.cosine, "Cosine", "sum_j d_j p_j / (|d|_2 |p|_2)", greater_is_better=True),
    Metric(
        distributions.intersection, "Intersection", "sum_j min(d_j, p_j)", greater_is_better=True
    ),
    Metric(distributions.cross_entropy, "Cross-entropy", "-sum_j d_j ln(p_j)"),
    Metric(distributions.euclidean, "Euclidean", "|d - p|_2"),
    Metric(distributions.sorensen, "Sørensen", "sum_j |d_j - p_j| / sum_j (d_j + p_j)"),
    Metric(distributions.squared_chi2, "Squared χ²", "sum_j (d_j - p_j)^2 / (d_j + p_j)"),
    Metric(distributions.fidelity, "Fidelity", "sum_j sqrt(d_j p_j)", greater_is_better=True),
    Metric(distributions.squared_chord, "Squared chord", "sum_j (sqrt(d_j) - sqrt(p_j))^2"),
    Metric(distributions.wave_hedges, "Wave-Hedges", "sum_j |d_j - p_j| / max(d_j, p_j)"),
    Metric(
        distributions.jensen_shannon, "Jensen-Shannon", "(KL(d, m) + KL(p, m)) / 2, m = (d + p) / 2"
    ),
    Metric(distributions.po_jsd, "PO-JSD", "1 - JS(d, p) / ln 2", greater_is_better=True),
    Metric(
        distributions.soft_micro_f1,
        "Soft micro-F1",
        "2 sum_j min(d_j, p_j) / sum_j (d_j + p_j)",
        greater_is_better=True,
    ),
    Metric(distributions.manhattan, "Manhattan", "sum_j |d_j - p_j|"),
    Metric(distributions.mean_squared_error, "Mean squared error", "sum_j (d_j - p_j)^2 / c"),
    Metric(distributions.mean_absolute_error, "Mean absolute error", "sum_j |d_j - p_j| / c"),
    Metric(labels.zero_one_loss, "0/1 loss", "[argmax p != argmax d]"),
    Metric(labels.error_probability, "Error probability", "1 - d_(argmax p)"),
    Metric(
        labels.threshold_error,
        "Threshold error (DLDL's one-error)",
        "sum_j [(d_j > delta) != (p_j > delta)] / c",
    ),
    Metric(
        labels.threshold_agreement,
        "Threshold agreement",
        "sum_j [(d_j > delta) == (p_j > delta)] / c",
        greater_is_better=True,
    ),
    Metric(
        labels.spearman,
        "Spearman",
        "Pearson correlation of the mid-ranks of d and p",
        greater_is_better=True,
    ),
    Metric(
        labels.kendall,
        "Kendall",
        "sum_(j<k) sgn(d_j - d_k) sgn(p_j - p_k) / number of pairs (tau-b: untied pairs)",
        greater_is_better=True,
    ),
    Metric(
        ordinal.expected_label_absolute_error,
        "Expected-label absolute error",
        "|sum_j x_j d_j - sum_j x_j p_j|",
        ordinal_only=True,
    ),
    Metric(
        ordinal.expected_label_squared_error,
        "Expected-label squared error",
        "(sum_j x_j d_j - sum_j x_j p_j)^2",
        ordinal_only=True,
    ),
    Metric(
        ordinal.wasserstein,
        "Wasserstein",
        "sum_j (x_(j+1) - x_j) |D_j - P_j|, D and P cumulative",
        ordinal_only=True,
    ),
    Metric(
        ordinal.cad,
        "Cumulative absolute distance (CAD)",
        "sum_j |D_j - P_j|, D and P cumulative",
        ordinal_only=True,
    ),
    Metric(
        ordinal.qfd2,
        "Quadratic form distance (QFD²)",
        "sum_jk (1 - |j - k| / c) (d_j - p_j) (d_k - p_k)",
        ordinal_only=True,
    ),
    Metric(
        ordinal.cjs,
        "Cumulative Jensen-Shannon (CJS)",
        "sum_j (D_j ln(D_j / M_j) + P_j ln(P_j / M_j)) / 2",
        ordinal_only=True,
    ),
    Metric(
        against_labels.average_precision,
        "Average precision",
        "mean over positives j of |positives ranked as high as j| / |labels ranked as high as j|",
        greater_is_better=True,
        against_labels=True,
    ),
    Metric(
        against_labels.ranking_loss,
        "Ranking loss",
        "share of pairs (positive j, negative k) with p_k >= p_j",
        against_labels=True,
    ),
    Metric(
        against_labels.top_label_error,
        "Top label is not positive",
        "1 - y_(argmax p)",
        against_labels=True,
    ),
    Metric(
        against_labels.positive_mass,
        "Mass on the positive labels",
        "sum_j y_j p_j",
        greater_is_better=True,
        against_labels=True,
    ),
    Metric(
        against_labels.vote_likelihood,
        "Vote log-likelihood",
        "sum_j y_j ln(1 - exp(-v p_j)) - (1 - y_j) v p_j, "
        "v the likeliest number of votes of all rows",
        greater_is_better=True,
        against_labels=True,
    ),
)
METRICS: Mapping[str, Metric] = MappingProxyType(
    {metric.name: metric for metric in _TABLE if not metric.against_labels}
)
LABEL_METRICS: Mapping[str, Metric] = MappingProxyType(
    {metric.name: metric for metric in _TABLE if metric.against_labels}
)
# The six that the literature reports since Geng, "Label distribution learning" (2016), which
# compares by all of them.
USUAL_METRICS = ("chebyshev", "clark", "canberra", "kl_divergence", "cosine", "intersection")
# Of predictions compared with votes. The first one is least for the true degrees.
VOTE_METRICS = ("cross_entropy", "intersection")
# The four of the tables of the DLDL paper, which calls the third one-error.
HEADLINE_METRICS = ("chebyshev", "clark", "threshold_error", "intersection")
# What is shown first where there are 0/1 labels alone.
LABEL_HEADLINE = ("vote_likelihood", "average_precision", "ranking_loss", "top_label_error")


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
    known = {**METRICS, **LABEL_METRICS}
    if name in known:
        return known[name]
    near = nearest_names(re.sub("[ -]", "_", str(name)), known)
    advice = did_you_mean(near, f"known are {', '.join(METRICS)}.")
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
    metric = get_metric(name)
    return metric.function(D_true, D_pred, convention=convention, per_row=True, **options)


def score_all(
    D_true: ArrayLike,
    D_pred: ArrayLike,
    names: Sequence[str] | None = None,
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
    return {
        name: get_metric(name).function(D_true, D_pred, convention=convention) for name in names
    }


SCORERS: Mapping[str, Any] = MappingProxyType({name: get_scorer(name) for name in METRICS})
