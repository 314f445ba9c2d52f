"""A plan that runs quickly, for tests of the experiment engine and its commands."""

from __future__ import annotations

from typing import Any

from ldlearn.experiments import Plan

DATA = {
    "generator": "label_distributions",
    "params": {"n_samples": 60, "n_features": 4, "n_labels": 3, "sparsity": 0.3},
}


def tiny_dict(**changes: Any) -> dict[str, Any]:
    content: dict[str, Any] = {
        "name": "tiny",
        "datasets": {"made": DATA},
        "protocol": {"repeats": 2},
        "methods": {
            "UniformLE": {},
            "DLDL": {"grid": {"alpha": [0.0, 0.1], "beta": [0.1, 1.0], "gamma": ["0.1*m", 1.0]}},
            "PriorLE": {},
            "PriorLE + SABFGS": {
                "estimator": "PriorLE",
                "learner": "SABFGS",
                "learner_grid": {"l2": [0.1, 1.0, 10.0]},
            },
            "SABFGS on truth": {"estimator": "SABFGS", "grid": {"l2": [0.1, 10.0]}},
        },
    }
    return content | changes


def tiny_plan(**changes: Any) -> Plan:
    return Plan.from_dict(tiny_dict(**changes))
