"""Two matrices as one tensor in Fourier coordinates, where its nuclear norm is a sum over small slices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ldlearn.solvers.low_rank import shrinkage

_BLOCK_ENTRIES = 250_000  # of the tensor at a time, so that they stay in the cache


class SpectralTensor:
    """Two n x n matrices, stacked, in the real coordinates of a Fourier transform along their rows.

    Parameters
    ----------
    bases : two ndarrays of shape (n, r)
        Orthonormal columns; the matrices only ever change by ``basis @ change`` and by thresholds.
    n : int
    """

    def __init__(self, bases: list[NDArray[np.float64]], n: int) -> None:
        self.n = n
        self.bases = [self._rotate(basis) for basis in bases]
        self.parts = [np.zeros((n // 2 + 1, 2, n)) for _ in bases]  # frequency, real or imaginary, column
        # Conjugate frequencies are stored once, with the weight of two. The tensor's norm is the mean of the nuclear
        # norms of the slices of a plain transform, and tau is their threshold; stored slices are `scale` times as long,
        # and their thresholds are scaled alike.
        paired = np.ones(n // 2 + 1)
        paired[0] = 0.0
        if n % 2 == 0:
            paired[-1] = 0.0
        self.scale = np.sqrt((1.0 + paired) / n)

    def _rotate(self, A: NDArray[np.float64]) -> NDArray[np.float64]:
        spectrum = fft.rfft(A, axis=0, norm="ortho")
        spectrum[1 : (self.n + 1) // 2] *= np.sqrt(2.0)  # so that lengths are those of all frequencies
        return np.stack([spectrum.real, spectrum.imag], axis=1)

    def mean(self) -> NDArray[np.float64]:
        """Mean of the two matrices."""
        spectrum = np.empty((self.n // 2 + 1, self.n), dtype=complex)
        spectrum.real = 0.5 * (self.parts[0][:, 0] + self.parts[1][:, 0])
        spectrum.imag = 0.5 * (self.parts[0][:, 1] + self.parts[1][:, 1])
        spectrum[1 : (self.n + 1) // 2] /= np.sqrt(2.0)
        return np.asarray(fft.irfft(spectrum, n=self.n, axis=0, norm="ortho", overwrite_x=True))

    def threshold(self, change: list[NDArray[np.float64]], tau: float) -> tuple[list[NDArray[np.float64]], float]:
        """Add ``basis @ change``, then lower the singular values of every frequency's slice by tau.

        Returns ``basis.T @ matrix`` for both, and how far the thresholds moved the tensor. One pass over memory.
        """
        products = [np.zeros_like(part) for part in change]
        distance = 0.0
        size = max(1, _BLOCK_ENTRIES // (4 * self.n))
        for start in range(0, self.n // 2 + 1, size):
            rows = slice(start, start + size)
            slices = np.concatenate([self._changed(v, rows, change[v]) for v in (0, 1)], axis=1)
            # Two columns a slice: its singular vectors follow from 2 x 2 Gram matrices, all frequencies at once.
            shrink, moved = slice_shrinkage(slices @ slices.transpose(0, 2, 1), tau * self.scale[rows])
            distance += moved
            slices = shrink @ slices
            for v in (0, 1):
                self.parts[v][rows] = slices[:, 2 * v : 2 * v + 2]
                products[v] += np.tensordot(self.bases[v][rows], self.parts[v][rows], axes=([0, 1], [0, 1]))
        return products, float(np.sqrt(distance))

    def _changed(self, v: int, rows: slice, change: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.parts[v][rows] + np.tensordot(self.bases[v][rows], change, axes=1))


def slice_shrinkage(K: NDArray[np.float64], tau: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """What multiplies the slices to lower their singular values, and the squared distance this moves them.

    A slice has n rows and two complex columns a, b; stored are the four real rows Re a, Im a, Re b, Im b.

    Parameters
    ----------
    K : ndarray of shape (f, 4, 4)
        Inner products of these rows.
    tau : ndarray of shape (f,)
    """
    gram = np.empty((len(K), 2, 2), dtype=complex)
    gram[:, 0, 0] = K[:, 0, 0] + K[:, 1, 1]
    gram[:, 1, 1] = K[:, 2, 2] + K[:, 3, 3]
    gram[:, 0, 1] = K[:, 0, 2] + K[:, 1, 3] + 1j * (K[:, 0, 3] - K[:, 1, 2])
    gram[:, 1, 0] = gram[:, 0, 1].conj()
    squares, vectors = np.linalg.eigh(gram)
    values = np.sqrt(np.maximum(squares, 0.0))
    mix = (vectors * shrinkage(values, tau[:, None])[:, None, :]) @ vectors.conj().transpose(0, 2, 1)
    # (a, b) S in real rows: a complex factor x + iy of a row pair is the block [[x, -y], [y, x]].
    real, imag = mix.real.transpose(0, 2, 1), mix.imag.transpose(0, 2, 1)
    shrink = np.empty_like(K)
    shrink[:, ::2, ::2] = shrink[:, 1::2, 1::2] = real
    shrink[:, 1::2, ::2] = imag
    shrink[:, ::2, 1::2] = -imag
    return shrink, float(np.sum(np.minimum(values, tau[:, None]) ** 2))
