"""Synthetic label distributions with controlled difficulty, and 0/1 labels as they may arise."""

from collections.abc import Iterator, Mapping
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import expit
from sklearn.utils import check_random_state

from ldlearn._messages import suggest_name
from ldlearn.core.logical import binarize
from ldlearn.core.simplex import Array, Mask, normalize_rows, softmax
from ldlearn.datasets.dataset import LabelDataset
from ldlearn.exceptions import DatasetError

_LogicalLabels = NDArray[np.int8]

BLOCK_ROWS = 2048  # part of what a seed means: another number would draw other rows
_DEGREE_MODES = ("threshold", "votes", "top-k")
_LABEL_MODES = (*_DEGREE_MODES, "presence")


def _check_rules(settings: object, rules: Mapping[str, bool]) -> None:
    """Raise the first sentence that does not hold; it begins with the name of the setting."""
    for sentence, holds in rules.items():
        if not holds:
            raise DatasetError(f"{sentence}, got {getattr(settings, sentence.split()[0])}.")


@dataclass(frozen=True)
class LabelSampler:
    """How 0/1 labels arise from degrees, with parameters; `check` has the valid ranges."""

    mode: str
    threshold: float = 0.01
    n_raters: int = 10
    concentration: float = np.inf
    k: int = 2
    missing: float = 0.0

    def check(self, n_labels: int, modes: tuple[str, ...] = _LABEL_MODES) -> None:
        """Raise one sentence about what is not allowed."""
        if self.mode not in modes:
            raise DatasetError(
                f"labels cannot be {self.mode!r}; {suggest_name(str(self.mode), modes)}"
            )
        rules = {
            "threshold must lie in [0, 1)": 0 <= self.threshold < 1,
            "n_raters must be a whole number, at least 1": self.n_raters >= 1
            and self.n_raters % 1 == 0,
            "concentration must be positive": self.concentration > 0,
            f"k must lie between 1 and {n_labels}, the number of labels": self.mode != "top-k"
            or 1 <= self.k <= n_labels,
            "missing must lie in [0, 1]": 0 <= self.missing <= 1,
        }
        _check_rules(self, rules)

    def draw_from_degrees(self, D: Array, rng: np.random.Generator) -> _LogicalLabels:
        """Labels of these distributions."""
        if self.mode == "votes":
            votes = rng.multinomial(self.n_raters, self._vote_shares(D, rng))
            Y: Array = (votes > 0).astype(np.int8)
        elif self.mode == "top-k":
            Y = binarize(D, "top-k", k=self.k)
        else:
            # The largest counts in any case.
            Y = binarize(D, delta=self.threshold) | binarize(D, "top-k", k=1)
        return self.drop_positives(Y, rng)

    def draw_presence(self, logits: Array, rng: np.random.Generator) -> _LogicalLabels:
        """Each label by itself with the odds ``exp(logit)``, given that there is at least one."""
        chance = expit(logits)
        # The probability that this label or a later one is present.
        later = -np.expm1(np.cumsum(np.log1p(-chance)[:, ::-1], axis=1)[:, ::-1])
        Y = np.zeros(logits.shape, dtype=np.int8)
        for j in range(logits.shape[1]):
            needed = chance[:, j] / later[:, j]
            Y[:, j] = rng.random(len(Y)) < np.where(Y.any(axis=1), chance[:, j], needed)
        return Y

    def _vote_shares(self, D: Array, rng: np.random.Generator) -> Array:
        """What raters vote by: D itself, or a Dirichlet distribution around it."""
        if np.isfinite(self.concentration):
            # Gamma variables over their sum are Dirichlet; numpy's own dirichlet takes one mean for
            # all rows.
            D = rng.standard_gamma(self.concentration * D)
        # multinomial refuses shares whose sum exceeds 1, be it by rounding
        return normalize_rows(D)

    def drop_positives(self, Y: _LogicalLabels, rng: np.random.Generator) -> _LogicalLabels:
        """Each positive is lost with probability `missing`, but the last of a row stays."""
        if self.missing == 0:
            return Y
        # The positive label with the largest draw stays whatever `missing` is.
        draw = np.where(Y, rng.random(Y.shape), -1.0)
        kept = (draw >= self.missing) | (draw == draw.max(axis=1, keepdims=True))
        return (kept & (Y > 0)).astype(np.int8)


def make_logical_labels(
    D: Any,
    labels: str = "votes",
    *,
    threshold: float = 0.01,
    n_raters: int = 10,
    concentration: float = np.inf,
    k: int = 2,
    missing: float = 0.0,
    random_state: int = 0,
) -> _LogicalLabels:
    """0/1 labels as they may come about from label distributions; every row has a positive one.

    Parameters
    ----------
    D : array-like of shape (n_samples, n_labels)
        Label distributions.
    labels : {"votes", "threshold", "top-k"}, default="votes"
        * ``"votes"``: each of ``n_raters`` raters votes for one label; positive is what got any
          vote.
        * ``"threshold"``: positive is what exceeds ``threshold``, and the largest degree in any
          case.
        * ``"top-k"``: positive are the ``k`` largest degrees.
    threshold, n_raters, k
        The parameter of the respective mode.
    concentration : float, default=inf
        Raters of a row agree with each other more than with D: they vote by shares drawn from a
        Dirichlet distribution with mean D and this concentration, so that votes are over-dispersed.
        Infinite: they vote by D.
    missing : float, default=0.0
        Probability that a positive label is forgotten; the last one of a row never is.
    random_state : int, default=0
        Seed.

    Returns
    -------
    Y : ndarray of shape (n_samples, n_labels), int8

    Examples
    --------
    >>> make_logical_labels([[0.6, 0.3, 0.1], [0.05, 0.9, 0.05]], "threshold", threshold=0.2)
    array([[1, 1, 0],
           [0, 1, 0]], dtype=int8)
    """
    degrees = np.asarray(D, dtype=np.float64)
    if degrees.ndim != 2:
        raise DatasetError(f"D must be 2-D (rows x labels), got {degrees.ndim} dimension(s).")
    sampler = LabelSampler(labels, threshold, n_raters, concentration, k, missing)
    sampler.check(degrees.shape[1], _DEGREE_MODES)
    return sampler.draw_from_degrees(degrees, np.random.default_rng(random_state))


@dataclass
class _SyntheticRows:
    """Generated rows in blocks of a fixed size; block i depends on settings, seed and i alone."""

    n_samples: int
    n_features: int
    n_labels: int
    sparsity: float = 0.0
    snr: float = 10.0
    imbalance: float = 1.0
    manifold_dim: int | None = None
    sharpness: float = 2.0
    random_state: InitVar[Any] = 0
    sampler: LabelSampler | None = None

    def __post_init__(self, random_state: Any) -> None:
        # One label of each row is never 0; the small number forgives rounding.
        most = 1 - 1 / max(self.n_labels, 1) + 1e-9
        rules = {
            "n_samples must not be negative": self.n_samples >= 0,
            "n_features must be at least 1": self.n_features >= 1,
            "n_labels must be at least 1": self.n_labels >= 1,
            "sparsity must lie in [0, 1 - 1 / n_labels]": 0 <= self.sparsity <= most,
            "snr must not be negative": self.snr >= 0,
            "imbalance must be positive and finite": 0 < self.imbalance < np.inf,
            "manifold_dim must be None or at least 1": self.manifold_dim is None
            or self.manifold_dim >= 1,
            "sharpness must be finite and not negative": 0 <= self.sharpness < np.inf,
        }
        _check_rules(self, rules)
        self.seed = _as_seed(random_state)
        # What all blocks share; [seed, 1, i] draws the rows of block i.
        rng = np.random.default_rng([self.seed, 0])
        n_latent = self.manifold_dim or self.n_features
        self.weights = _unit_columns(rng.standard_normal((n_latent, self.n_labels)))
        self.frequencies = rng.standard_normal((n_latent, self.n_features)) / np.sqrt(n_latent)
        self.phases = rng.uniform(0, 2 * np.pi, self.n_features)
        self.offsets = -np.log(self.imbalance) * np.linspace(0, 1, self.n_labels)

    def blocks(self, dtype: DTypeLike) -> Iterator[tuple[Array, ...]]:
        """X and D of the rows, and Y if 0/1 labels are drawn."""
        for index, start in enumerate(range(0, self.n_samples, BLOCK_ROWS)):
            # a whole block is drawn and then cut, so the first rows never depend on how many were
            # asked for
            X, D, *Y = (part[: self.n_samples - start] for part in self._draw_block(index))
            D = D.astype(dtype)
            # Divided again: rows rounded to float32 no longer sum to 1.
            yield X.astype(dtype), D / D.sum(axis=1, keepdims=True), *Y

    def _draw_block(self, index: int) -> tuple[Array, ...]:
        rng = np.random.default_rng([self.seed, 1, index])
        latent = rng.standard_normal((BLOCK_ROWS, self.weights.shape[0]))
        logits = self._draw_logits(latent, rng)
        D = softmax(logits, _draw_support(logits, self.sparsity, rng))
        X = latent
        if self.manifold_dim:
            # Cosines of random phases have a mean square of 1/2; the factor makes it 1.
            X = np.sqrt(2.0) * np.cos(latent @ self.frequencies + self.phases)
        if self.sampler is None:
            return X, D
        rng = np.random.default_rng([self.seed, 2, index])  # labels leave X and D as they are
        if self.sampler.mode == "presence":
            present = self.sampler.draw_presence(logits, rng)
            shares = normalize_rows(present.astype(float))
            return X, shares, self.sampler.drop_positives(present, rng)
        return X, D, self.sampler.draw_from_degrees(D, rng)

    def _draw_logits(self, latent: Array, rng: np.random.Generator) -> Array:
        # Signal and noise share a variance of 1, so that snr changes neither the sharpness nor the
        # scale.
        noise_share = 1 / (1 + self.snr)
        logits = np.sqrt(1 - noise_share) * (latent @ self.weights)
        logits += np.sqrt(noise_share) * rng.standard_normal(logits.shape)
        return self.sharpness * logits + self.offsets


def _unit_columns(W: Array) -> Array:
    """Columns of length 1, orthogonal if they can be, so that no label is favoured."""
    if W.shape[0] >= W.shape[1]:
        return np.linalg.qr(W)[0]
    return W / np.linalg.norm(W, axis=0)


def _draw_support(logits: Array, sparsity: float, rng: np.random.Generator) -> Mask:
    """The largest logits of each row; the expected fraction of zeros is `sparsity`."""
    n_rows, n_labels = logits.shape
    # One label is always there; each of the others has this chance, so that zeros make up
    # `sparsity` on average.
    others = (n_labels * (1 - sparsity) - 1) / max(n_labels - 1, 1)
    sizes = 1 + rng.binomial(n_labels - 1, np.clip(others, 0.0, 1.0), size=n_rows)
    ranks = np.argsort(np.argsort(-logits, axis=1), axis=1)
    return ranks < sizes[:, None]


def iter_label_distributions(
    n_samples: int = 1000,
    n_features: int = 20,
    n_labels: int = 5,
    *,
    dtype: DTypeLike = np.float64,
    **settings: Any,
) -> Iterator[tuple[Array, Array]]:
    """Blocks (X, D) of at most 2,048 rows of what `make_label_distributions` returns at once.

    Only one block is in memory at a time, so the number of rows is not limited by it.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
    dtype : dtype, default=float64
    **settings
        ``sparsity``, ``snr``, ``imbalance``, ``manifold_dim``, ``sharpness`` and ``random_state``
        of `make_label_distributions`, with the same defaults.

    Examples
    --------
    >>> [len(X) for X, D in iter_label_distributions(5000)]
    [2048, 2048, 904]
    """
    rows = _SyntheticRows(n_samples, n_features, n_labels, **settings)
    return ((X, D) for X, D in rows.blocks(dtype))


def make_label_distributions(
    n_samples: int = 1000,
    n_features: int = 20,
    n_labels: int = 5,
    *,
    sparsity: float = 0.0,
    snr: float = 10.0,
    imbalance: float = 1.0,
    manifold_dim: int | None = None,
    sharpness: float = 2.0,
    labels: str | None = None,
    threshold: float = 0.01,
    n_raters: int = 10,
    concentration: float = np.inf,
    k: int = 2,
    missing: float = 0.0,
    random_state: Any = 0,
    dtype: DTypeLike = np.float64,
) -> LabelDataset:
    r"""Synthetic features, label distributions and 0/1 labels, with controlled difficulty.

    The logits of a row are ``sharpness`` times (signal + noise), of variance 1 together, plus an
    offset per label; the distribution is their softmax over the support of the row. Without a
    manifold, the features are independent standard normal numbers :math:`x` and the signal is
    linear in them. With one, the signal is linear in ``manifold_dim`` hidden normal numbers
    :math:`z`, of which only the features :math:`\sqrt 2 \cos(\omega_k^\top z + b_k)` are seen.

    Parameters
    ----------
    n_samples, n_features, n_labels : int
        Sizes. Rows are made in blocks: beyond the result itself, memory does not grow with
        ``n_samples``. For sets larger than the memory use `iter_label_distributions`.
    sparsity : float, default=0.0
        Expected fraction of degrees that are exactly 0, from 0 (full support) to 1 - 1 / n_labels
        (one label per row). A row keeps its largest logits; how many varies from row to row.
    snr : float, default=10.0
        Variance of the signal over variance of the noise, in the logits; ``np.inf`` for none, 0 for
        noise only.
    imbalance : float, default=1.0
        Odds of the first label over the last one before features are seen; the labels between them
        follow geometrically. 1 is balanced.
    manifold_dim : int, optional
        Dimension of the curved surface on which the features lie; by default they fill their space.
    sharpness : float, default=2.0
        Standard deviation of the logits: 0 gives the same distribution everywhere, large values
        nearly one-hot rows.
    labels : {"threshold", "votes", "top-k", "presence"}, optional
        How the 0/1 labels Y of the set come about; by default it has none. The first three and
        their parameters are those of `make_logical_labels`. With ``"presence"`` each label is
        present or not by itself, with the odds ``exp(logit)``; D holds equal shares of those
        present.
    threshold, n_raters, concentration, k, missing
        Parameters of these modes, see `make_logical_labels`: ``concentration`` makes votes
        over-dispersed, ``missing`` is the probability that a positive label is missing, whatever
        the mode.
    random_state : int, RandomState instance or None, default=0
        The same seed gives the same rows, whatever the number of rows: a larger set begins with the
        smaller one.
    dtype : dtype, default=float64
        Type of X and D.

    Returns
    -------
    data : LabelDataset

    Examples
    --------
    >>> data = make_label_distributions(200, 10, 4, sparsity=0.5, random_state=1)
    >>> data.X.shape, data.D.shape, bool((data.D.sum(axis=1).round(12) == 1).all())
    ((200, 10), (200, 4), True)
    >>> make_label_distributions(3, 10, 4, labels="top-k", k=2).Y.sum(axis=1)
    array([2, 2, 2])
    """
    sampler = Y = None
    if labels is not None:
        sampler = LabelSampler(labels, threshold, n_raters, concentration, k, missing)
        sampler.check(n_labels)
        Y = np.empty((n_samples, n_labels), dtype=np.int8)
    difficulty = (sparsity, snr, imbalance, manifold_dim, sharpness)
    rows = _SyntheticRows(n_samples, n_features, n_labels, *difficulty, random_state, sampler)
    X = np.empty((n_samples, n_features), dtype=dtype)
    D = np.empty((n_samples, n_labels), dtype=dtype)
    for number, block in enumerate(rows.blocks(dtype)):
        for whole, part in zip((X, D, Y), block, strict=False):
            whole[number * BLOCK_ROWS :][: len(part)] = part  # type: ignore[index]
    settings = f"{rows}, random_state={rows.seed}"
    return LabelDataset(
        X, D, Y, name="synthetic", source="generated", licence="none needed", description=settings
    )


def _as_seed(random_state: Any) -> int:
    if isinstance(random_state, int | np.integer):
        if random_state < 0:
            raise DatasetError(f"random_state must not be negative, got {random_state}.")
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
