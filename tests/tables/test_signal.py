"""The check for informative features: vote likelihood of held-out 0/1 labels compared with a constant."""

import numpy as np
import pandas as pd
import pytest

from ldlearn.core.simplex import softmax
from ldlearn.datasets import make_label_distributions
from ldlearn.metrics.against_baselines import advantage_over_constant
from ldlearn.tables import fit_table
from ldlearn.tables.table_fit import describe_signal


def fit_simulated(*, shuffled=False, n=400, **options):
    data = make_label_distributions(n, 6, 5, random_state=0, **options)
    order = np.random.default_rng(3).permutation(n) if shuffled else slice(None)
    labels = [f"l{j}" for j in range(5)]
    table = pd.DataFrame(data.X[order], columns=[f"x{j}" for j in range(6)]).assign(
        **dict(zip(labels, data.Y.T, strict=True))
    )
    return fit_table(table, labels, features=[f"x{j}" for j in range(6)])


NEARLY_ALL = {"labels": "votes", "n_raters": 100}  # nine of ten labels are 1


@pytest.mark.parametrize(
    "options",
    [NEARLY_ALL, {"labels": "votes", "n_raters": 5, "snr": 0.5}, {"labels": "presence"}, {"labels": "top-k"}],
    ids=str,
)
def test_informative_features_trigger_no_warning(options):
    model = fit_simulated(**options)
    assert model.facts["holdout"]["better_than_baselines"]
    assert "likelier" in describe_signal(model.facts["holdout"])
    assert not any("Uninformative" in text for text in model.facts["warnings"])


@pytest.mark.parametrize("options", [NEARLY_ALL, {"labels": "votes", "n_raters": 5}, {"labels": "presence"}], ids=str)
def test_shuffled_features_trigger_a_warning(options):
    model = fit_simulated(shuffled=True, **options)
    assert not model.facts["holdout"]["better_than_baselines"]
    assert any("no likelier" in text or "chance" in text for text in model.facts["warnings"])


def test_false_positive_rate_on_noise():
    """Predictions independent of the labels, sharp or flat, exceed two standard errors in about 2 % of the trials."""
    rng, passed = np.random.default_rng(0), 0
    for trial in range(200):
        Y = (rng.random((80, 4)) < (0.9, 0.6, 0.4, 0.2)).astype(float)
        P = softmax((0.2 if trial % 2 else 3.0) * rng.normal(size=(80, 4)))
        gain, error = advantage_over_constant(Y, P, P[0], logical=True)
        passed += gain > 2 * error
    assert passed <= 12


def test_overconfident_predictions_count_as_informative():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(300, 4))
    Y = (rng.random((300, 4)) < -np.expm1(-3 * softmax(scores))).astype(float)
    for sharpness in (0.1, 1.0, 10.0):
        gain, error = advantage_over_constant(Y, softmax(sharpness * scores), softmax(scores)[0], logical=True)
        assert gain > 4 * error


def test_constant_labels_give_no_evidence():
    table = pd.DataFrame({"x": np.random.default_rng(0).normal(size=60), "a": 1, "b": 1})
    model = fit_table(table, ["a", "b"])
    assert any("No evidence" in text for text in model.facts["warnings"])
