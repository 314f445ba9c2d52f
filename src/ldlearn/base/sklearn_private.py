"""The only importer of scikit-learn's private names; a test fails loudly when they move."""

from sklearn.utils._param_validation import HasMethods, Interval, InvalidParameterError, StrOptions

__all__ = ["HasMethods", "Interval", "InvalidParameterError", "StrOptions"]
