"""The check for informative features: vote likelihood of held-out 0/1 labels compared with a
constant."""

import re

import numpy as np
import pandas as pd
import pytest

from ldlearn.core.simplex import softmax
from ldlearn.datasets import make_label_distributions
from ldlearn.metrics import per_row
from ldlearn.metrics.against_baselines import advantage_over_constant, score_with_baselines
from ldlearn.tables import ColumnOptions, fit_table
from ldlearn.tables.table_fit import describe_signal


def fit_simulated(*, shuffled=False, n=400, **options):
    data = make_label_distributions(n, 6, 5, random_state=0, **options)
    order = np.random.default_rng(3).permutation(n) if shuffled else slice(None)
    labels = [f"l{j}" for j in range(5)]
    table = pd.DataFrame(data.X[order], columns=[f"x{j}" for j in range(6)]).assign(
        **dict(zip(labels, data.Y.T, strict=True))
    )
    return fit_table(table, labels, columns=ColumnOptions(features=[f"x{j}" for j in range(6)]))


NEARLY_ALL = {"labels": "votes", "n_raters": 100}  # nine of ten labels are 1


@pytest.mark.parametrize(
    "options",
    [
        NEARLY_ALL,
        {"labels": "votes", "n_raters": 5, "snr": 0.5},
        {"labels": "presence"},
        {"labels": "top-k"},
    ],
    ids=str,
)
def test_informative_features_trigger_no_warning(options):
    model = fit_simulated(**options)
    assert model.facts["holdout"]["better_than_baselines"]
    assert "likelier" in describe_signal(model.facts["holdout"])
    assert not any("Uninformative" in text for text in model.facts["warnings"])


@pytest.mark.parametrize(
    "options", [NEARLY_ALL, {"labels": "votes", "n_raters": 5}, {"labels": "presence"}], ids=str
)
def test_shuffled_features_trigger_a_warning(options):
    model = fit_simulated(shuffled=True, **options)
    assert not model.facts["holdout"]["better_than_baselines"]
    assert any("no likelier" in text or "chance" in text for text in model.facts["warnings"])


def test_false_positive_rate_on_noise():
    """Predictions independent of the labels, sharp or flat, exceed two standard errors in about 2 %
    of the trials."""
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
        gain, error = advantage_over_constant(
            Y, softmax(sharpness * scores), softmax(scores)[0], logical=True
        )
        assert gain > 4 * error


def simulated_scores(sharpness, slope=1.0):
    """Votes of 300 rows, and predictions whose logits are the true ones times a factor."""
    rng = np.random.default_rng(0)
    logits = slope * rng.normal(size=(300, 4))
    Y = (rng.random((300, 4)) < -np.expm1(-3 * softmax(logits))).astype(float)
    return score_with_baselines(
        Y, softmax(sharpness * logits), np.full(4, 0.25), None, logical=True
    )


def test_likelihoods_are_compared_beside_their_slope():
    """Predictions in the right direction are worse than none if they are far too sharp."""
    good, sharp = simulated_scores(1.0), simulated_scores(10.0)
    assert good["better_than_baselines"]
    assert good["likelihood_gain"] > 4 * good["likelihood_error"]
    assert not sharp["better_than_baselines"]
    assert sharp["advantage"] > 4 * sharp["standard_error"]
    assert sharp["likelihood_gain"] < -4 * sharp["likelihood_error"]
    text = describe_signal(sharp)
    assert "Informative features, but" in text
    assert "less likely" in text
    assert f"{sharp['likelihood_gain']:+.3f}" in text
    assert "less likely" not in describe_signal(good)


def test_printed_slope_is_the_derivative_of_the_log_likelihood():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(300, 4))
    P = softmax(logits)
    Y = (rng.random((300, 4)) < -np.expm1(-3 * P)).astype(float)
    constant = np.log(P.mean(axis=0))
    step = 1e-3
    ahead, behind = (
        per_row("vote_likelihood", Y, softmax(constant + t * (np.log(P) - constant))).mean()
        for t in (step, -step)
    )
    slope = (ahead - behind) / (2 * step)
    found = score_with_baselines(Y, P, P.mean(axis=0), None, logical=True)
    assert found["advantage"] == pytest.approx(slope, rel=0.05)
    printed = float(re.search(r"per row ([-+0-9.]+),", describe_signal(found))[1])
    assert printed == pytest.approx(slope, rel=0.05)


def test_less_likely_labels_are_reported_beside_uninformative_features():
    reversed_scores = simulated_scores(-1.0)
    text = describe_signal(reversed_scores)
    assert text.startswith("Uninformative")
    assert "less likely" in text


def test_likelihood_of_labels_is_not_compared_for_degrees():
    D = softmax(np.random.default_rng(0).normal(size=(50, 3)))
    found = score_with_baselines(D, D, D.mean(axis=0), None, logical=False)
    assert found["better_than_baselines"]
    assert found["likelihood_gain"] is None
    assert "less likely" not in describe_signal(found)


def test_constant_labels_give_no_evidence():
    table = pd.DataFrame({"x": np.random.default_rng(0).normal(size=60), "a": 1, "b": 1})
    model = fit_table(table, ["a", "b"])
    assert any("No evidence" in text for text in model.facts["warnings"])
