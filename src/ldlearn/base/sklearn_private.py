"""The only importer of scikit-learn's private names; a test fails loudly when they move."""

from sklearn.utils._param_validation import HasMethods as HasMethods
from sklearn.utils._param_validation import Interval as Interval
from sklearn.utils._param_validation import InvalidParameterError as InvalidParameterError
from sklearn.utils._param_validation import StrOptions as StrOptions
from sklearn.utils._param_validation import (
    validate_parameter_constraints as validate_parameter_constraints,
)
from sklearn.utils._set_output import ADAPTERS_MANAGER as ADAPTERS_MANAGER
from sklearn.utils._set_output import _get_container_adapter as get_container_adapter
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = ["check_sample_weight", "get_container_adapter"]
