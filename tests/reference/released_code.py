"""Emulation of the code released with the DLDL paper, from a description, with plain loops and
without the library.

It is not a reference for the paper's problem, as the tests show. Its properties:

- Every row is updated from sums over the *other* rows, where the stated problem has the row itself.
- The first distributions come from ten sweeps with an unstated weight of 3000, independent of their
  start. So the pseudo distributions that the paper names are left out here; the sweeps begin with
  equal shares.
- The graph enters as its Laplacian times itself; the gradient steps have a fixed length of 1e-5.
- The penalty of ADMM has four values, and the agreement of the two copies of D is not checked.
- The weights are fitted to one copy of D, which need not be feasible; the other one is reported.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

SWEEPS, WEIGHT = 10, 3000.0
PENALTIES = (0.001, 0.0012, 0.00144, 0.001728)
STEPS, LENGTH, ENOUGH = 50, 1e-5, 1e-3
TINY = 1e-12


class Released(NamedTuple):
    """Reported degrees, the copy of D used to fit the weights, and the weights."""

    recovered: np.ndarray
    target: np.ndarray
    weights: np.ndarray


def released_code(X, Y, alpha, beta, gamma, n_neighbors=20, sigma=20.0, n_iter=5):
    G = laplacian(X, n_neighbors, sigma)
    F = first_distributions(G, Y, alpha)
    B, W = F, np.eye(X.shape[1], Y.shape[1])
    for _ in range(n_iter):
        W = fit_weights(X, F, W, gamma)
        B, F = split_step(F, softmax(X @ W), G @ G.T, Y, alpha, beta)
    return Released(B, F, W)


def laplacian(X, n_neighbors, sigma):
    """Of the neighbours of each row (the row itself counts as one), in both directions."""
    squares = cdist(X, X, "sqeuclidean")
    near = np.zeros_like(squares)
    for i, row in enumerate(squares):
        near[i, np.argsort(row, kind="stable")[:n_neighbors]] = 1
    A = near * np.exp(-squares / (2 * sigma**2))
    A = (A + A.T) / 2
    return np.diag(A.sum(axis=1)) - A


def first_distributions(G, Y, alpha):
    F, both, counts = Y / Y.sum(axis=1, keepdims=True), G + G.T, Y.sum(axis=0)
    for _ in range(SWEEPS):
        for j in range(len(Y)):
            graph = both[j] @ F - both[j, j] * F[j]
            labels = (2 / alpha) * (counts - Y[j])  # of all other rows
            F[j] = projected((labels - graph) / (G[j, j] + (1 + WEIGHT) / alpha), Y[j])
    return F


def fit_weights(X, F, W, gamma):
    def cost(flat):
        weights = flat.reshape(W.shape)
        P = softmax(X @ weights)
        value = -(F * np.log(np.maximum(P, TINY))).sum() + gamma * (weights**2).sum()
        return value, (X.T @ (P - F) + 2 * gamma * weights).ravel()

    return minimize(
        cost, W.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 50}
    ).x.reshape(W.shape)


def split_step(F, P, GG, Y, alpha, beta):
    """Four rounds that would be ADMM if each row were updated from itself."""
    B, multipliers = np.zeros_like(F), np.zeros_like(F)
    for tau in PENALTIES:
        F = gradient_steps(F, B, multipliers, P, GG, tau, alpha, beta)
        B = other_rows_step(B, F, multipliers, Y, tau)
        multipliers = multipliers + tau * (B - F)
    return B, F


def gradient_steps(F, B, multipliers, P, GG, tau, alpha, beta):
    log_P = np.log(np.maximum(P, TINY))

    def cost(F):
        logs, pull = np.log(np.maximum(np.abs(F), TINY)) - log_P, GG @ F
        value = (F * logs).sum() + alpha * np.vdot(F, pull) + beta * (F**2).sum()
        value += np.vdot(multipliers, B - F) + tau / 2 * ((B - F) ** 2).sum()
        gradient = (
            np.where(F == 0, 0.0, logs + 1)
            + 2 * alpha * pull
            + 2 * beta * F
            - multipliers
            - tau * (B - F)
        )
        return value, gradient

    value, gradient = cost(F)
    for _ in range(STEPS):
        F = F - LENGTH * gradient
        before = value
        value, gradient = cost(F)
        if abs(before - value) < ENOUGH:
            break
    return F


def other_rows_step(B, F, multipliers, Y, tau):
    B, terms = B.copy(), 2 * B - 2 * F + (2 / tau) * multipliers
    total = terms.sum(axis=0)
    for j in range(len(Y)):
        others = total - terms[j]
        B[j] = projected(-others / (1 + 1 / tau), Y[j])
        total = (
            others + 2 * B[j] - 2 * F[j] + (2 / tau) * multipliers[j]
        )  # later rows use the updated one
    return B


def projected(point, allowed):
    """The nearest distribution over the allowed labels."""
    inside = point[allowed > 0]
    descending = np.sort(inside)[::-1]
    shifts = (np.cumsum(descending) - 1) / np.arange(1, len(inside) + 1)
    shift = shifts[np.flatnonzero(descending > shifts)[-1]]
    found = np.zeros(len(point))
    found[allowed > 0] = np.maximum(inside - shift, 0)
    return found


def softmax(Z):
    powers = np.exp(Z - Z.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
