"""Two matrices as one tensor in Fourier coordinates, where its nuclear norm is a sum over small slices."""

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from sklearn.utils import gen_batches

from ldlearn.solvers.low_rank import shrinkage

_BLOCK_ENTRIES = 250_000  # of the tensor at a time, so that they stay in the cache


class SpectralTensor:
    """Two n x n matrices, stacked, after a Fourier transform along their rows.

    Parameters
    ----------
    bases : two ndarrays of shape (n, r)
        Orthonormal columns; the matrices only ever change by ``basis @ change`` and by thresholds.
    n : int
    """

    def __init__(self, bases: list[NDArray[np.float64]], n: int) -> None:
        self.n = n
        # Conjugate frequencies are stored once, with the weight of two, so that lengths are those of all frequencies.
        self.root_weights = np.ones((n // 2 + 1, 1))
        self.root_weights[1 : (n + 1) // 2] = np.sqrt(2.0)
        self.bases = [self.root_weights * fft.rfft(basis, axis=0, norm="ortho") for basis in bases]
        self.slices = np.zeros((n // 2 + 1, len(bases), n), dtype=complex)  # frequency, matrix, column

    def mean(self) -> NDArray[np.float64]:
        """Mean of the two matrices."""
        spectrum = self.slices.mean(axis=1) / self.root_weights
        return np.asarray(fft.irfft(spectrum, n=self.n, axis=0, norm="ortho", overwrite_x=True))

    def threshold(self, change: list[NDArray[np.float64]], tau: float) -> tuple[list[NDArray[np.float64]], float]:
        """Add ``basis @ change``, then lower the singular values of every frequency's slice by tau.

        Returns ``basis.T @ matrix`` for both, and how far the thresholds moved the tensor. One pass over memory.
        """
        products = [np.zeros_like(part) for part in change]
        squares = 0.0
        size = max(1, _BLOCK_ENTRIES // (4 * self.n))
        # The tensor's norm is the mean of the nuclear norms of the slices of a plain transform, and tau is their
        # threshold; stored slices are scaled, and their thresholds alike.
        taus = tau * self.root_weights / np.sqrt(self.n)
        for rows in gen_batches(self.n // 2 + 1, size):
            slices = self.slices[rows]
            for v, part in enumerate(change):
                slices[:, v] += self.bases[v][rows] @ part
            # Two rows a slice: its singular vectors follow from 2 x 2 Gram matrices, all frequencies at once.
            values, vectors = np.linalg.eigh(slices @ slices.conj().transpose(0, 2, 1))
            lengths = np.sqrt(np.maximum(values, 0.0))
            squares += float(np.sum(np.minimum(lengths, taus[rows]) ** 2))
            kept = vectors * shrinkage(lengths, taus[rows])[:, None, :]
            slices[:] = (kept @ vectors.conj().transpose(0, 2, 1)) @ slices
            for v, product in enumerate(products):
                product += (self.bases[v][rows].conj().T @ slices[:, v]).real
        return products, float(np.sqrt(squares))
