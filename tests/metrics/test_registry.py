"""The registry, its error messages, and the checks on input that all metrics share."""

import copy
import inspect
import pickle

import numpy as np
import pytest

from ldlearn import metrics
from ldlearn.metrics import (
    HEADLINE_METRICS,
    LABEL_METRICS,
    METRICS,
    USUAL_METRICS,
    get_metric,
    get_scorer,
    per_row,
    score_all,
)

SIMILARITIES = {"cosine", "intersection", "fidelity", "threshold_agreement", "spearman", "kendall"}
SIMILARITIES |= {"po_jsd", "soft_micro_f1"}
SIMILARITIES |= {"average_precision", "positive_mass", "vote_likelihood"}
ALL = {**METRICS, **LABEL_METRICS}
ORDINAL = {
    "expected_label_absolute_error",
    "expected_label_squared_error",
    "wasserstein",
    "cad",
    "qfd2",
    "cjs",
}
D = np.array([[0.5, 0.5], [1.0, 0.0]])
P = np.array([[0.25, 0.75], [0.5, 0.5]])


def test_six_usual_metrics_come_first():
    assert tuple(METRICS)[:6] == USUAL_METRICS


def test_headline_metrics_are_those_of_the_paper_s_tables():
    titles = [METRICS[name].title for name in HEADLINE_METRICS]
    assert titles == ["Chebyshev", "Clark", "Threshold error (DLDL's one-error)", "Intersection"]


@pytest.mark.parametrize("name", ALL)
def test_entry(name):
    metric = get_metric(name)
    assert metric is ALL[name]
    assert metric.against_labels == (name in LABEL_METRICS)
    assert metric.name == name
    assert metric.function is getattr(metrics, name)
    assert name in metrics.__all__
    assert metric.greater_is_better == (name in SIMILARITIES)
    assert metric.symbol == ("↑" if name in SIMILARITIES else "↓")
    assert metric.heading == f"{metric.title} {metric.symbol}"
    assert metric.ordinal_only == (name in ORDINAL)
    assert metric.formula in " ".join(metric.function.__doc__.split())


@pytest.mark.parametrize("name", ALL)
def test_signature_and_docstring_are_complete(name):
    function = ALL[name].function
    signature = inspect.signature(function)
    assert list(signature.parameters)[:3] == ["D_true", "D_pred", "convention"]
    assert signature.parameters["convention"].default == "exact"
    assert list(signature.parameters)[-1] == "per_row"
    for parameter in signature.parameters:
        assert parameter in function.__doc__
    assert function.__name__ == name
    assert pickle.loads(pickle.dumps(function)) is function


def test_registry_is_read_only_and_entries_are_frozen():
    with pytest.raises(TypeError):
        METRICS["mine"] = METRICS["clark"]
    with pytest.raises(AttributeError):
        METRICS["clark"].title = "mine"


def test_pickle_and_copy_return_an_equal_metric():
    metric = METRICS["clark"]
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert copy.deepcopy(metric) == metric


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("chebychev", "did you mean chebyshev?"),
        ("kl", "did you mean kl_divergence?"),
        ("KL", "did you mean kl_divergence?"),
        ("mse", "did you mean mean_squared_error?"),
        ("js", "did you mean jensen_shannon?"),
        ("chi2", "did you mean squared_chi2?"),
        ("k", "known are chebyshev, clark, "),
        ("absolute", "did you mean mean_absolute_error or expected_label_absolute_error?"),
        ("Jensen-Shannon", "did you mean jensen_shannon?"),
        ("zzz", "known are chebyshev, clark, "),
        ("", "known are chebyshev, clark, "),
    ],
)
def test_unknown_name_raises_with_suggestions(wrong, hint):
    with pytest.raises(ValueError, match="no metric named") as error:
        get_metric(wrong)
    assert hint in str(error.value)


@pytest.mark.parametrize("name", ALL)
def test_function_returns_the_mean_or_the_rows(name):
    truth = (D > 0).astype(float) if name in LABEL_METRICS else D
    rows = ALL[name].function(truth, P, per_row=True)
    np.testing.assert_array_equal(rows, per_row(name, truth, P))
    value = ALL[name].function(truth, P)
    assert type(value) is float
    assert value == pytest.approx(rows.mean())


def test_per_row_passes_options():
    assert per_row("threshold_error", [[0.3, 0.7]], [[0.6, 0.4]], delta=0.5).tolist() == [1.0]
    with pytest.raises(TypeError, match="delta"):
        per_row("clark", D, P, delta=0.5)


def test_score_all_equals_single_functions():
    scores = score_all(D, P)
    assert list(scores) == [name for name, metric in METRICS.items() if not metric.ordinal_only]
    for name, value in scores.items():
        assert value == pytest.approx(METRICS[name].function(D, P), nan_ok=True)
    names = ("expected_label_absolute_error", "clark")
    assert tuple(score_all(D, P, names)) == names
    recovered = score_all(D, P, ["clark"], convention="dldl-recovery")
    assert recovered == {"clark": metrics.clark(D, P, convention="dldl-recovery")}
    with pytest.raises(ValueError, match="no metric named"):
        score_all(D, P, ["nonsense"])


def test_score_all_with_metrics_against_labels():
    Y = (D > 0).astype(float)
    assert per_row("top_label_error", Y, P).tolist() == [0.0, 0.0]
    assert score_all(Y, P, ["positive_mass", "ranking_loss"])["positive_mass"] == 0.75
    assert not set(score_all(D, P)) & set(LABEL_METRICS)
    assert get_scorer("ranking_loss")._sign == -1


@pytest.mark.parametrize(
    ("truth", "prediction", "message"),
    [
        (D, P[:1], r"same shape, got \(2, 2\) and \(1, 2\)"),
        (D[0], P[0], r"D_true must be 2-D .* got shape \(2,\)"),
        (D, 3.0, r"D_pred must be 2-D .* got shape \(\)"),
        (D, [[0.5, np.nan], [0.5, 0.5]], "D_pred must be finite, but row 0, column 1 holds nan"),
        ([[0.5, 0.5], [np.inf, 0.0]], P, "D_true must be finite, but row 1, column 0 holds inf"),
        (
            D,
            [[0.5, 0.5], [1.5, -0.5]],
            "D_pred must not be negative, but row 1, column 1 holds -0.5",
        ),
        (
            np.empty((0, 3)),
            np.empty((0, 3)),
            r"D_true has nothing to compare: its shape is \(0, 3\)",
        ),
        (D, [["a", "b"], ["c", "d"]], "D_pred must hold real numbers"),
        (D, np.array([["a", 1], [2, 3]], dtype=object), "D_pred must hold real numbers"),
        (D, P + 1j, "D_pred must hold real numbers, got dtype complex128"),
    ],
)
def test_invalid_input_raises(truth, prediction, message):
    with pytest.raises(ValueError, match=message):
        metrics.chebyshev(truth, prediction)
    with pytest.raises(ValueError, match=message):
        score_all(truth, prediction)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library):
    frames = pytest.importorskip(library)
    truth = frames.DataFrame({"a": [0.5, 1.0], "b": [0.5, 0.0]})
    prediction = frames.DataFrame({"a": [0.25, 0.5], "b": [0.75, 0.5]})
    assert score_all(truth, prediction) == pytest.approx(score_all(D, P), nan_ok=True)
    with pytest.raises(ValueError, match="same columns in different orders"):
        metrics.chebyshev(truth, prediction[["b", "a"]])


def test_inputs_are_not_modified_and_dtypes_are_equivalent():
    truth, prediction = D.astype(np.float32), P.astype(np.float32)
    before = truth.copy(), prediction.copy()
    scores = score_all(truth, prediction)
    np.testing.assert_array_equal(truth, before[0])
    np.testing.assert_array_equal(prediction, before[1])
    assert scores == pytest.approx(score_all(D, P), nan_ok=True)
    assert metrics.chebyshev([[1, 0]], [[True, False]]) == 0.0


@pytest.mark.parametrize("name", METRICS)
def test_rows_that_sum_to_two_are_rejected(name):
    metric, D = METRICS[name].function, np.array([[0.5, 0.3, 0.2], [0.6, 0.3, 0.1]])
    for pair, which in (((2 * D, D), "truth"), ((D, 2 * D), "prediction")):
        with pytest.raises(
            ValueError, match=f"{which}.* row 0 sums to 2 instead of 1; divide each row by its sum"
        ):
            metric(*pair)
    metric(D.round(1) * 0.99, D)  # rounded shares
    metric(D, 2 * D, convention="pyldl")  # as others would


def test_sort_key_puts_the_best_first_and_nan_last():
    for name, best, worst in (("intersection", 0.9, 0.1), ("chebyshev", 0.1, 0.9)):
        values = sorted([np.nan, worst, best], key=METRICS[name].sort_key)
        assert values[:2] == [best, worst]
        assert np.isnan(values[2])
