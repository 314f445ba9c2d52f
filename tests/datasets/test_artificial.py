import numpy as np
import pytest

from ldlearn.datasets import (
    DatasetError,
    artificial_distribution,
    artificial_picture,
    make_artificial,
)
from ldlearn.datasets.artificial import _decorrelation_matrix


def test_formula_matches_reference_values():
    points = [[0, 0, 0], [1, 1, 1], [-1, -1, -1]]
    expected = [
        [0.301968, 0.345723, 0.352309],
        [0.248787, 0.351716, 0.399497],
        [0.323970, 0.337720, 0.338310],
    ]
    np.testing.assert_allclose(artificial_distribution(points), expected, atol=5e-7)


def test_manifold_matches_reference_values():
    data = make_artificial("manifold")
    assert data.X.shape == (2601, 3)
    np.testing.assert_allclose(data.D.mean(axis=0), [0.303707, 0.343583, 0.352710], atol=5e-7)
    assert data.D.min() == pytest.approx(0.09363, abs=5e-6)
    np.testing.assert_allclose(data.X[:, 2], np.sin((data.X[:, 0] + data.X[:, 1]) * np.pi))
    np.testing.assert_allclose(np.unique(data.X[:, 0].round(9)), -1 + 0.04 * np.arange(51))


def test_training_points_fill_the_cube_and_depend_on_the_seed():
    data, again = make_artificial(n_samples=5000), make_artificial(n_samples=5000)
    np.testing.assert_array_equal(data.X, again.X)
    assert make_artificial().X.shape == (500, 3)
    assert np.abs(data.X).max() <= 1
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=0.05)
    np.testing.assert_allclose(data.X.var(axis=0), 1 / 3, atol=0.02)
    assert not np.array_equal(data.X, make_artificial(n_samples=5000, random_state=1).X)


def test_threshold_rule_warns_that_all_labels_are_positive():
    data = make_artificial("manifold")
    with pytest.warns(UserWarning, match="cumulative"):
        assert data.logical().all()
    Y = data.logical(rule="cumulative")
    assert 1 < Y.sum(axis=1).mean() < 3


def test_decorrelation_keeps_mean_and_variance():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((1000, 3)) @ rng.standard_normal((3, 3)) * 0.01 + 0.5
    out = Z.mean(axis=0) + (Z - Z.mean(axis=0)) @ _decorrelation_matrix(Z)
    np.testing.assert_allclose(np.corrcoef(out.T), np.eye(3), atol=1e-8)
    np.testing.assert_allclose(out.mean(axis=0), Z.mean(axis=0))
    np.testing.assert_allclose(out.std(axis=0), Z.std(axis=0))


def test_decorrelation_of_distributions_has_rank_two():
    D = make_artificial("manifold").D
    standard = (D - D.mean(axis=0)) @ _decorrelation_matrix(D) / D.std(axis=0)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(standard.T @ standard / len(D)), [0, 1, 1], atol=1e-8
    )


def test_pictures_use_the_decorrelation_stretch_of_the_truth():
    truth = make_artificial("manifold").D
    picture = artificial_picture(truth)
    for end in (0, 1):
        np.testing.assert_allclose((picture == end).mean(axis=(0, 1)), 0.01, atol=0.002)
    uniform = artificial_picture(np.full((2601, 3), 1 / 3))
    assert np.ptp(uniform, axis=(0, 1)).max() == 0
    half = artificial_picture(truth / 2 + 1 / 6)  # the decorrelation is affine
    inside = (picture > 0) & (picture < 1) & (half > 0) & (half < 1)
    np.testing.assert_allclose(half[inside], (picture / 2 + uniform / 2)[inside])


@pytest.mark.parametrize(
    "call",
    [
        lambda: make_artificial("test"),
        lambda: artificial_distribution([[1.0, 2.0]]),
        lambda: artificial_picture(np.full((100, 3), 1 / 3)),
    ],
)
def test_invalid_arguments_raise(call):
    with pytest.raises(DatasetError):
        call()
