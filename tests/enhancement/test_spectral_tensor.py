"""The proximal map of the tensor nuclear norm against a loop over complex slices."""

from __future__ import annotations

import numpy as np
import pytest

from ldlearn.enhancement import glesc
from ldlearn.enhancement.glesc import _SpectralTensor


def naive_threshold(T, tau):
    """T (n, n, 2): transform along the first axis, threshold every slice's singular values,
    transform back."""
    A = np.fft.fft(T, axis=0)
    for f in range(len(A)):
        U, s, V = np.linalg.svd(A[f], full_matrices=False)
        A[f] = (U * np.maximum(s - tau, 0.0)) @ V
    back = np.fft.ifft(A, axis=0)
    np.testing.assert_allclose(back.imag, 0.0, atol=1e-12)
    return back.real


def matrices(n, seed=0):
    return np.random.default_rng(seed).normal(size=(2, n, n))


def tensor_of(parts):
    """A tensor of these matrices, with the identity as basis."""
    n = parts.shape[1]
    tensor = _SpectralTensor([np.eye(n), np.eye(n)], n)
    products, moved = tensor.threshold_singular_values(list(parts), 0.0)
    assert moved == 0.0
    np.testing.assert_allclose(products, parts, atol=1e-10)
    return tensor


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("tau", [0.0, 1.0, 4.0, 100.0])
def test_threshold_equals_the_loop_for_any_size(n, tau):
    parts = matrices(n)
    tensor = _SpectralTensor([np.eye(n), np.eye(n)], n)
    products, moved = tensor.threshold_singular_values(list(parts), tau)
    expected = naive_threshold(parts.transpose(1, 2, 0), tau).transpose(2, 0, 1)
    np.testing.assert_allclose(products, expected, atol=1e-9)
    np.testing.assert_allclose(tensor.mean_matrix(), expected.mean(axis=0), atol=1e-9)
    assert moved == pytest.approx(np.linalg.norm(parts - expected), abs=1e-9)


def test_changes_add_up_in_the_given_bases():
    n = 9
    rng = np.random.default_rng(1)
    bases = [np.linalg.qr(rng.normal(size=(n, r)))[0] for r in (4, 2)]
    tensor = _SpectralTensor(bases, n)
    whole = np.zeros((2, n, n))
    for tau in (0.5, 0.1, 2.0):
        change = [rng.normal(size=(basis.shape[1], n)) for basis in bases]
        products, _ = tensor.threshold_singular_values(change, tau)
        whole += [basis @ part for basis, part in zip(bases, change, strict=True)]
        whole = naive_threshold(whole.transpose(1, 2, 0), tau).transpose(2, 0, 1)
        for v in (0, 1):
            np.testing.assert_allclose(products[v], bases[v].T @ whole[v], atol=1e-9)
    np.testing.assert_allclose(tensor.mean_matrix(), whole.mean(axis=0), atol=1e-9)


def test_result_does_not_depend_on_the_block_size(monkeypatch):
    parts = matrices(11)
    whole = tensor_of(parts)
    monkeypatch.setattr(glesc, "CACHED_ENTRIES", 100)
    in_blocks = tensor_of(parts)
    nothing = [np.zeros((11, 11))] * 2
    whole.threshold_singular_values(nothing, 1.0)
    in_blocks.threshold_singular_values(nothing, 1.0)
    np.testing.assert_allclose(whole.mean_matrix(), in_blocks.mean_matrix(), atol=1e-12)


def test_cyclic_shifts_commute_with_the_threshold_and_other_orders_do_not():
    parts, order = matrices(8), np.array([1, 0, 2, 3, 4, 5, 6, 7])

    def after(rearranged):
        tensor = _SpectralTensor([np.eye(8), np.eye(8)], 8)
        tensor.threshold_singular_values(list(rearranged), 2.0)
        return tensor.mean_matrix()

    straight = after(parts)
    np.testing.assert_allclose(
        after(np.roll(parts, 3, axis=1)), np.roll(straight, 3, axis=0), atol=1e-10
    )
    assert np.abs(after(parts[:, order]) - straight[order]).max() > 0.01
