"""Is there any signal? Scores of held-out rows with 0/1 labels by the vote likelihood."""

import numpy as np
import pandas as pd
import pytest

from ldlearn.core.simplex import softmax
from ldlearn.datasets import make_label_distributions
from ldlearn.metrics.against_baselines import advantage_over_constant
from ldlearn.tables import fit_table
from ldlearn.tables.table_fit import describe_signal


def checked(*, shuffled=False, n=400, **options):
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
def test_signal_raises_no_alarm(options):
    model = checked(**options)
    assert model.facts["holdout"]["better_than_baselines"]
    assert "likelier" in describe_signal(model.facts["holdout"])
    assert not any("Uninformative" in text for text in model.facts["warnings"])


@pytest.mark.parametrize("options", [NEARLY_ALL, {"labels": "votes", "n_raters": 5}, {"labels": "presence"}], ids=str)
def test_shuffled_features_raise_the_alarm(options):
    model = checked(shuffled=True, **options)
    assert not model.facts["holdout"]["better_than_baselines"]
    assert any("no likelier" in text or "chance" in text for text in model.facts["warnings"])


def test_noise_passes_as_often_as_it_should():
    """Predictions that have nothing to do with the labels, sharp or flat: two standard errors are passed by 2 %."""
    rng, passed = np.random.default_rng(0), 0
    for trial in range(200):
        Y = (rng.random((80, 4)) < (0.9, 0.6, 0.4, 0.2)).astype(float)
        P = softmax((0.2 if trial % 2 else 3.0) * rng.normal(size=(80, 4)))
        gain, error = advantage_over_constant(Y, P, P[0], logical=True)
        passed += gain > 2 * error
    assert passed <= 12


def test_too_sharp_predictions_are_no_reason_for_an_alarm():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(300, 4))
    Y = (rng.random((300, 4)) < -np.expm1(-3 * softmax(scores))).astype(float)
    for sharpness in (0.1, 1.0, 10.0):
        gain, error = advantage_over_constant(Y, softmax(sharpness * scores), softmax(scores)[0], logical=True)
        assert gain > 4 * error


def test_labels_that_never_differ_are_nothing_to_judge_by():
    table = pd.DataFrame({"x": np.random.default_rng(0).normal(size=60), "a": 1, "b": 1})
    model = fit_table(table, ["a", "b"])
    assert any("No evidence" in text for text in model.facts["warnings"])
