"""Minimisers: they know arrays and functions, never estimators."""
