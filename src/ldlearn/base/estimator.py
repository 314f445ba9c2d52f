"""What all kinds of estimator share: capabilities, validation and the walk of a fit."""

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, TargetTags
from sklearn.utils.validation import check_consistent_length, validate_data

from ldlearn._messages import suggest_name
from ldlearn.base.errors import explain_overflow, raise_input_errors
from ldlearn.base.output import set_output
from ldlearn.base.row_data import ROW_DATA, RowData
from ldlearn.core.simplex import Array
from ldlearn.core.targets import check_labels_seen, label_names, label_order, split_observed
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.solvers.lbfgs import LbfgsFit, LossAndGradient, minimize_lbfgs


@dataclass(slots=True)
class Capabilities(Tags):
    """scikit-learn's tags, and what else an estimator accepts and promises.

    `ldlearn.testing` checks all of it.
    """

    # ``fit`` uses these keywords
    sample_weight: bool = False
    degrees: bool = False
    n_raters: bool = False
    groups: bool = False
    validation: bool = False
    unknown_labels: bool = False  # 0/1 labels may be NaN: neither positive nor negative
    counts: bool = False  # y may be counts of votes
    incomplete_degrees: bool = False  # a learner uses the degrees that are not NaN
    keeps_zeros: bool = False  # negative labels get degree 0
    order_invariant: bool = True  # permuting the samples permutes the result
    label_invariant: bool = True  # permuting the labels permutes the result
    weight_equals_repetition: bool = True  # sample weight 2, if it is used, is the row twice


class LabelEstimator(BaseEstimator):
    """Base of all estimators: parameters, validation, and ``fit``, which calls ``_fit``.

    A method subclasses `Enhancer`, `Learner` or `JointModel` and defines ``_fit(X, T)``, where X is
    a validated feature matrix (float64 or float32; CSR if the class accepts sparse input) and T the
    validated targets: a boolean array of logical labels or a float array of distributions. ``_fit``
    sets the learned attributes.

    What else is known about the rows reaches ``_fit`` by name if it is given. A method can use what
    its ``_fit`` names: ``sample_weight``; ``observed``, the mask of labels that are not NaN;
    ``groups``, an integer for each row; ``degrees``; ``n_raters``, their logarithms; and
    ``validation``, a mask of rows. Anything else is refused by ``fit``.
    """

    # Types and shapes of the attributes that ``fit`` sets, private ones too: model files hold these
    # and no others. A class declares those that its bases do not: see
    # `ldlearn.tables.model_schema`.
    learned: ClassVar[Mapping[str, str]] = {
        "n_features_in_": "size n_features",
        "feature_names_in_": "names (n_features)",
        "label_names_": "names (n_labels)",
        "converged_": "bool",
        "n_iter_": "int",
        "objective_": "float",
        "objective_path_": "float (n_steps)",
        "_sklearn_output_config": "dict of str",
    }

    kind: ClassVar[str]
    label_names_: Array
    tol: float  # of iterative methods, as is `max_iter`
    max_iter: int
    _fit: Callable[..., None]
    _predict: Callable[..., Array]  # of learners and joint models
    _check_targets: Callable[[Any], Array]
    is_baseline: ClassVar[bool] = False  # uses no features, or is a simple standard approach
    can_enhance: ClassVar[bool] = False  # has `enhance` for new rows with 0/1 labels
    path_params: ClassVar[tuple[str, ...]] = ()  # what `fit_path` varies at little cost
    float32_tolerance: ClassVar[float] = 1e-3  # how far float32 input may move the result
    # Parameters under which the method is small and quick; every check is run with each of them.
    _test_params: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    # What parameters may be; see `estimator_dataclass`.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    _convergence_advice: ClassVar[str] = "raise max_iter, or loosen tol."  # the end of the warning
    # Whether ``_fit`` gets no rows of sample weight 0.
    _omits_zero_weights: ClassVar[bool] = False

    set_output = set_output

    def __sklearn_tags__(self) -> Capabilities:
        tags = Capabilities(
            estimator_type=None,
            target_tags=TargetTags(
                required=True, two_d_labels=True, multi_output=True, single_output=False
            ),
            transformer_tags=None,
            classifier_tags=None,
            regressor_tags=None,
        )
        used = inspect.signature(self._fit).parameters
        for name in ROW_DATA:
            setattr(tags, name, name in used)
        tags.unknown_labels = "observed" in used
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``step__name`` reaches into nested estimators.

        Parameters
        ----------
        **params
            Names and values.
        """
        valid = self._get_param_names()
        for name in params:
            own, _, _ = name.partition("__")
            if own not in valid:
                problem = f"Invalid parameter {own!r} for estimator {type(self).__name__}"
                advice = suggest_name(own, valid)
                raise ParameterError(f"{problem}: there is none of this name; {advice}")
        return super().set_params(**params)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        degrees: Any = None,
        n_raters: Any = None,
        groups: Any = None,
        validation: Any = None,
    ) -> Self:
        """Fit the model. If that fails, the object is left as it was.

        All estimators have these keywords; one that a method cannot use raises an error if it is
        given. ``sklearn.utils.get_tags(estimator)`` says which it can use.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Features; some methods support sparse matrices.
        y : array-like or data frame of shape (n_samples, n_labels)
            Targets: logical labels in {0, 1} for enhancers and joint models (NaN where a label is
            unknown), label distributions for learners. Column names of a data frame are kept in
            ``label_names_``.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts: 2 is the row twice, 0 no row at all.
        degrees : array-like or data frame of shape (n_samples, n_labels), default=None
            True degrees of the rows where they are known, NaN in the others. They are kept,
            whatever y is.
        n_raters : array-like of shape (n_samples,) or float, default=None
            Number of raters who voted on each row.
        groups : array-like of shape (n_samples,), default=None
            Which rows belong together, such as those of the same person or document: any hashable
            values. Model selection never validates a row by rows of its group, and intervals allow
            for the dependence within groups.
        validation : array-like of bool of shape (n_samples,), default=None
            Rows that decide when to stop, and are not trained on.

        Returns
        -------
        self
        """
        given = {
            "sample_weight": sample_weight,
            "degrees": degrees,
            "n_raters": n_raters,
            "groups": groups,
            "validation": validation,
        }
        before = dict(self.__dict__)
        try:
            with raise_input_errors():
                self._validate_params()
            with config_context(transform_output="default"):
                self._fit_rows(*self._validate_rows(X, y, given))
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self._warn_unless_converged()
        return self

    def _validate_rows(self, X: Any, y: Any, given: RowData) -> tuple[Any, Any, RowData]:
        """Features, targets and row data as ``_fit`` takes them."""
        features = self._validate_features(X, reset=True)
        T = self._check_targets(y)
        with raise_input_errors():
            check_consistent_length(features, T)
        self.label_names_ = label_names(y, T.shape[1])
        row_data = {}
        for name, value in given.items():
            if value is not None:
                row_data[name] = self._check_row_data(name, value, features)
        if T.dtype != bool:  # degrees, or labels some of which are unknown
            check_labels_seen(self.label_names_, np.isfinite(T).sum(axis=0))
            if self.__sklearn_tags__().unknown_labels:
                T, row_data["observed"] = split_observed(T)
        return features, T, row_data

    def _fit_rows(self, X: Any, T: Any, row_data: RowData, **shared: Any) -> None:
        """Call ``_fit`` with the rows that count; ``shared`` is work that fits on them share."""
        counted = None
        if "sample_weight" in row_data and self._omits_zero_weights:
            counted = row_data["sample_weight"] > 0
        try:
            if counted is None or counted.all():
                self._fit(X, T, **row_data, **shared)
            else:
                kept = {name: value[counted] for name, value in row_data.items()}
                self._fit(X[counted], T[counted], **kept, **shared)
        except (np.linalg.LinAlgError, OverflowError):
            explain_overflow(X)
            raise
        self._finish_fit(X, T, row_data)

    def _finish_fit(self, X: Any, T: Any, row_data: RowData) -> None:
        """What a kind of estimator does after ``_fit``; X, T and row data are those of all rows."""

    def _warn_unless_converged(self) -> None:
        # DLDL stops its outer iteration early by design: only its steps are meant to converge.
        if getattr(self, "steps_converged_", getattr(self, "converged_", True)):
            return
        n_iter = getattr(self, "n_iter_", None)
        after = ""
        if n_iter is not None:
            after = f" after {n_iter} iteration{'' if n_iter == 1 else 's'}"
        problem = f"{type(self).__name__} stopped{after} before it converged"
        message = f"{problem}; {self._convergence_advice}"
        warnings.warn(message, ConvergenceWarning, stacklevel=3)

    def fit_path(
        self, X: Any, y: Any, points: Iterable[Mapping[str, Any]], **row_data: Any
    ) -> Iterator[Self]:
        """Fitted copies of this estimator, one for each setting of some parameters.

        A method that can share work between settings names them in ``path_params`` and does so
        here; any other fits each copy by itself.

        Parameters
        ----------
        X, y
            As for ``fit``.
        points : iterable of mapping
            Parameters to set, by name.
        **row_data
            What else ``fit`` takes, such as ``sample_weight``.

        Yields
        ------
        fitted estimators, in the order of the points
        """
        for point in points:
            yield clone(self).set_params(**point).fit(X, y, **row_data)

    def _should_iterate(self, path: list[float]) -> bool:
        """Whether to go on, given the objective at the start and after each iteration.

        For methods with ``tol`` and ``max_iter``. It sets ``converged_``, ``n_iter_``,
        ``objective_`` and ``objective_path_``.
        """
        self.objective_path_ = np.array(path[1:])
        self.objective_ = float(path[-1])
        self.n_iter_ = len(path) - 1
        smallest_step = self.tol * abs(self.objective_)
        self.converged_ = self.n_iter_ > 0 and bool(path[-2] - path[-1] <= smallest_step)
        return not self.converged_ and self.n_iter_ < self.max_iter

    def _iterations(self) -> Iterator[int]:
        """Count iterations in ``n_iter_`` until ``max_iter``, or until ``converged_`` is set."""
        self.n_iter_ = 0
        self.converged_ = False
        while not self.converged_ and self.n_iter_ < self.max_iter:
            self.n_iter_ += 1
            yield self.n_iter_

    def _minimize_lbfgs(
        self, loss: LossAndGradient, start: Sequence[Array], memory: int = 10
    ) -> LbfgsFit:
        """Minimise with ``tol`` and ``max_iter``, and set the attributes of an iterative fit.

        These are ``objective_``, ``n_iter_`` and ``converged_``.
        """
        fit = minimize_lbfgs(loss, start, max_iter=self.max_iter, tol=self.tol, memory=memory)
        self.objective_ = fit.loss
        self.n_iter_ = fit.n_iter
        self.converged_ = fit.converged
        return fit

    def _validate_features(self, X: Any, reset: bool = False) -> Any:
        tags = self.__sklearn_tags__().input_tags
        with raise_input_errors():
            return validate_data(
                self,
                X,
                reset=reset,
                dtype=[np.float64, np.float32],
                accept_sparse="csr" if tags.sparse else False,
                ensure_all_finite="allow-nan" if tags.allow_nan else True,
            )

    def _check_row_data(self, name: str, value: Any, X: Any) -> Any:
        """What ``fit`` takes beside features and targets, validated; X is validated already."""
        if not getattr(self.__sklearn_tags__(), name, False):
            advice = "leave it out, or choose a method that can."
            raise InputError(f"{type(self).__name__} cannot use {name!r} in fit; {advice}")
        return ROW_DATA[name](value, X, self.label_names_)

    def _match_labels(self, y: Any, check: Callable[[Any], Array]) -> Array:
        """Checked targets with their columns in the order of the fit, by name if y has names."""
        order = label_order(y, self.label_names_)
        targets = check(y)
        if order is not None:
            return targets[:, order]
        if targets.shape[1] != len(self.label_names_):
            fitted = f"{type(self).__name__} was fitted with {len(self.label_names_)}"
            raise InputError(f"y has {targets.shape[1]} label columns, but {fitted}.")
        return targets
