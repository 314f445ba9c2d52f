"""Estimators made of estimators."""

__all__: list[str] = []
