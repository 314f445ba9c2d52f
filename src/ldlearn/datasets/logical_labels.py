"""0/1 labels drawn from degrees: by a threshold, by votes of raters, or as the k largest, perhaps incomplete."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ldlearn.core.logical import binarize
from ldlearn.core.simplex import normalize_rows
from ldlearn.exceptions import DatasetError, suggest_name

DEGREE_MODES = ("threshold", "votes", "top-k")
LABEL_MODES = (*DEGREE_MODES, "presence")


def check_rules(settings: object, rules: Mapping[str, bool]) -> None:
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

    def check(self, n_labels: int, modes: tuple[str, ...] = LABEL_MODES) -> None:
        """Raise one sentence about what is not allowed."""
        if self.mode not in modes:
            raise DatasetError(
                f"labels must be one of {', '.join(modes)}, got {self.mode!r}; {suggest_name(str(self.mode), modes)}"
            )
        rules = {
            "threshold must lie in [0, 1)": 0 <= self.threshold < 1,
            "n_raters must be a whole number, at least 1": self.n_raters >= 1 and self.n_raters % 1 == 0,
            "concentration must be positive": self.concentration > 0,
            f"k must lie between 1 and {n_labels}, the number of labels": self.mode != "top-k"
            or 1 <= self.k <= n_labels,
            "missing must lie in [0, 1]": 0 <= self.missing <= 1,
        }
        check_rules(self, rules)

    def of_degrees(self, D: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int8]:
        """Labels of these distributions."""
        if self.mode == "votes":
            Y = np.asarray(rng.multinomial(self.n_raters, self._shares(D, rng)) > 0, dtype=np.int8)
        elif self.mode == "top-k":
            Y = binarize(D, "top-k", k=self.k)
        else:
            Y = binarize(D, delta=self.threshold) | binarize(D, "top-k", k=1)  # the largest counts in any case
        return self.forget(Y, rng)

    def present(self, logits: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int8]:
        """Each label by itself with the odds ``exp(logit)``, given that there is at least one."""
        chance = expit(logits)
        # The probability that this label or a later one is present.
        later = -np.expm1(np.cumsum(np.log1p(-chance)[:, ::-1], axis=1)[:, ::-1])
        Y = np.zeros(logits.shape, dtype=np.int8)
        for j in range(logits.shape[1]):
            Y[:, j] = rng.random(len(Y)) < np.where(Y.any(axis=1), chance[:, j], chance[:, j] / later[:, j])
        return Y

    def _shares(self, D: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """What raters vote by: D itself, or a Dirichlet distribution around it."""
        D = np.asarray(D, dtype=np.float64)
        if np.isfinite(self.concentration):
            # Gamma variables over their sum are Dirichlet; numpy's own dirichlet takes one mean for all rows.
            D = rng.standard_gamma(self.concentration * D)
        # multinomial refuses shares whose sum exceeds 1, be it by rounding
        return normalize_rows(D)

    def forget(self, Y: NDArray[np.int8], rng: np.random.Generator) -> NDArray[np.int8]:
        """Each positive is lost with probability `missing`, but the last of a row stays."""
        if self.missing == 0:
            return Y
        # The positive label with the largest draw stays whatever `missing` is.
        draw = np.where(Y, rng.random(Y.shape), -1.0)
        kept = (draw >= self.missing) | (draw == draw.max(axis=1, keepdims=True))
        return np.asarray(kept & (Y > 0), dtype=np.int8)


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
) -> NDArray[np.int8]:
    """0/1 labels as they may come about from label distributions; every row has a positive one.

    Parameters
    ----------
    D : array-like of shape (n_samples, n_labels)
        Label distributions.
    labels : {"votes", "threshold", "top-k"}, default="votes"
        * ``"votes"``: each of ``n_raters`` raters votes for one label; positive is what got any vote.
        * ``"threshold"``: positive is what exceeds ``threshold``, and the largest degree in any case.
        * ``"top-k"``: positive are the ``k`` largest degrees.
    threshold, n_raters, k
        The parameter of the respective mode.
    concentration : float, default=inf
        Raters of a row agree with each other more than with D: they vote by shares drawn from a Dirichlet distribution
        with mean D and this concentration, so that votes are over-dispersed. Infinite: they vote by D.
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
    sampler.check(degrees.shape[1], DEGREE_MODES)
    return sampler.of_degrees(degrees, np.random.default_rng(random_state))
