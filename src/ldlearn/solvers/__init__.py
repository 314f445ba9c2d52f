"""Solvers with optimality certificates: they work on arrays and functions, not on estimators."""
