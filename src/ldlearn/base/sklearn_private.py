"""The only importer of scikit-learn's private names; a test fails loudly when they move."""

from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils._set_output import ADAPTERS_MANAGER
from sklearn.utils._set_output import _get_container_adapter as get_container_adapter
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = [
    "ADAPTERS_MANAGER",
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "StrOptions",
    "check_sample_weight",
    "get_container_adapter",
    "validate_parameter_constraints",
]
