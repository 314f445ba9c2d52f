import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from ldlearn.datasets import DatasetError, iter_label_distributions, make_label_distributions
from ldlearn.datasets.generated import BLOCK_ROWS


@settings(deadline=None, max_examples=25)
@given(
    n=st.integers(0, 60),
    m=st.integers(1, 8),
    c=st.integers(1, 6),
    sparsity=st.floats(0, 1),
    snr=st.sampled_from([0.0, 0.3, 10.0, np.inf]),
    manifold=st.sampled_from([None, 1, 3]),
    seed=st.integers(0, 2**40),
)
def test_rows_are_distributions_and_reproducible(n, m, c, sparsity, snr, manifold, seed):
    options = {
        "sparsity": sparsity * (1 - 1 / c),
        "snr": snr,
        "manifold_dim": manifold,
        "random_state": seed,
    }
    data = make_label_distributions(n, m, c, **options)
    assert data.X.shape == (n, m)
    assert data.D.shape == (n, c)
    assert (data.D >= 0).all()
    np.testing.assert_allclose(data.D.sum(axis=1), 1)
    again = make_label_distributions(n + 3, m, c, **options)
    np.testing.assert_array_equal(again.X[:n], data.X)
    np.testing.assert_array_equal(again.D[:n], data.D)


def test_blocks_equal_the_full_data_set():
    n = BLOCK_ROWS + 100
    whole = make_label_distributions(n, 3, 4, sparsity=0.3, random_state=5)
    blocks = list(iter_label_distributions(n, 3, 4, sparsity=0.3, random_state=5))
    assert [len(X) for X, _ in blocks] == [BLOCK_ROWS, 100]
    np.testing.assert_array_equal(np.concatenate([X for X, _ in blocks]), whole.X)
    np.testing.assert_array_equal(np.concatenate([D for _, D in blocks]), whole.D)
    assert not np.array_equal(blocks[0][0][:100], blocks[1][0])


@pytest.mark.parametrize("sparsity", [0.0, 0.35, 0.8])
def test_sparsity_is_the_fraction_of_zeros(sparsity):
    D = make_label_distributions(20_000, 4, 10, sparsity=sparsity).D
    assert (D == 0).mean() == pytest.approx(sparsity, abs=0.01)
    assert ((D > 0).sum(axis=1) >= 1).all()


def test_maximum_sparsity_gives_one_hot_rows():
    D = make_label_distributions(100, 4, 5, sparsity=0.8).D
    assert ((D == 1).sum(axis=1) == 1).all()


@pytest.mark.parametrize("snr", [0.0, 1.0, 9.0, np.inf])
def test_snr_is_explained_over_unexplained_variance(snr):
    data = make_label_distributions(20_000, 6, 4, snr=snr, random_state=2)
    logits = np.log(data.D)
    logits -= logits.mean(axis=1, keepdims=True)
    design = np.column_stack([data.X, np.ones(len(data.X))])
    fitted = design @ np.linalg.lstsq(design, logits, rcond=None)[0]
    unexplained = (logits - fitted).var(axis=0).sum() / logits.var(axis=0).sum()
    assert unexplained == pytest.approx(1 / (1 + snr), abs=0.01)


def test_imbalance_orders_the_labels():
    balanced = make_label_distributions(20_000, 10, 5).D.mean(axis=0)
    np.testing.assert_allclose(balanced, 0.2, atol=0.02)
    constant = make_label_distributions(500, 10, 5, imbalance=100, sharpness=0).D
    np.testing.assert_allclose(constant[:, 0] / constant[:, -1], 100)
    skewed = make_label_distributions(20_000, 10, 5, imbalance=100).D.mean(axis=0)
    assert (np.diff(skewed) < 0).all()


def test_manifold_has_the_requested_dimension():
    X = make_label_distributions(20_000, 30, 3, manifold_dim=2).X
    np.testing.assert_allclose((X**2).mean(), 1, atol=0.1)
    neighbours = NearestNeighbors(n_neighbors=40).fit(X)
    ratios = []
    for i in range(20):
        near = X[neighbours.kneighbors(X[i : i + 1], return_distance=False)[0]]
        spread = np.linalg.svd(near - near.mean(axis=0), compute_uv=False) ** 2
        ratios.append(spread[:2].sum() / spread.sum())
    assert np.median(ratios) > 0.95
    flat = make_label_distributions(2000, 30, 3).X
    assert np.linalg.svd(flat, compute_uv=False).min() > 0.5 * np.sqrt(2000)


def test_float32_is_kept_and_blocks_limit_memory():
    tracemalloc.start()
    data = make_label_distributions(200_000, 20, 4, dtype=np.float32)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert data.X.dtype == data.D.dtype == np.float32
    assert peak < 1.6 * (data.X.nbytes + data.D.nbytes)


@pytest.mark.parametrize(
    "options",
    [
        {"sparsity": 0.9},
        {"sparsity": -0.1},
        {"snr": -1.0},
        {"snr": np.nan},
        {"imbalance": 0.0},
        {"manifold_dim": 0},
        {"sharpness": np.inf},
        {"random_state": -1},
        {"n_samples": -1},
        {"n_features": 0},
        {"n_labels": 0},
    ],
)
def test_invalid_parameters_raise(options):
    with pytest.raises(DatasetError):
        make_label_distributions(**options)


def test_random_states_other_than_seeds():
    first = make_label_distributions(5, random_state=np.random.RandomState(0))
    second = make_label_distributions(5, random_state=np.random.RandomState(0))
    np.testing.assert_array_equal(first.X, second.X)
    assert not np.array_equal(
        make_label_distributions(5, random_state=None).X,
        make_label_distributions(5, random_state=None).X,
    )
