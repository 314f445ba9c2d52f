"""Direct implementations of published methods with loops and dense arrays, without the library."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear, minimize
from scipy.spatial.distance import cdist, pdist
from scipy.stats import multivariate_normal


def softmax(F):
    powers = [np.exp(row - row.max()) for row in np.asarray(F, dtype=float)]
    return np.array([row / row.sum() for row in powers])


def shares(F):
    return F / F.sum(axis=1, keepdims=True)


def kernel_memberships(X, Y, delta=1e-7):
    """KM, label by label and row by row."""
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * pdist(X).mean() ** 2))
    F = np.zeros(Y.shape)
    for label in range(Y.shape[1]):
        members = np.flatnonzero(Y[:, label])
        if not len(members):
            continue
        spread = K[np.ix_(members, members)].mean()
        squares = {i: K[i, i] - 2 * K[i, members].mean() + spread for i in members}
        radius = max(squares.values())
        for i in members:
            F[i, label] = 1 - np.sqrt(squares[i] / (radius + delta))
    return F


def propagated(X, Y, alpha=0.5, n_iter=2000):
    """LP: the limit of the propagation, by iterating it."""
    A = np.exp(-cdist(X, X, "sqeuclidean") / 2)
    np.fill_diagonal(A, 0.0)
    root = 1 / np.sqrt(A.sum(axis=1))
    P = root[:, None] * A * root
    F = Y.astype(float)
    for _ in range(n_iter):
        F = alpha * P @ F + (1 - alpha) * Y
    return F


def neighbours(X, i, k):
    """The k rows nearest to row i, itself excluded."""
    order = np.argsort(cdist(X[i : i + 1], X)[0], kind="stable")
    return order[order != i][:k]


def laplacian(X, k, sigma):
    """``diag(A 1) - A`` of the graph that joins two rows if one is among the k nearest of the
    other."""
    A = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        for j in neighbours(X, i, k):
            A[i, j] = A[j, i] = np.exp(-np.sum((X[i] - X[j]) ** 2) / (2 * sigma**2))
    return np.diag(A.sum(axis=1)) - A


def smoothed(X, Y, lam, k, sigma):
    """GLLE's exact scores: the minimiser of ``|D - Y|^2 + lam tr(D' G D)``."""
    return np.linalg.solve(np.eye(len(X)) + lam * laplacian(X, k, sigma), Y.astype(float))


def manifold_scores(X, Y, k, reg):
    """ML: local weights by one linear system a row, then one bounded least-squares problem a
    label."""
    n = len(X)
    R = np.eye(n)
    for i in range(n):
        near = neighbours(X, i, k)
        gram = (X[near] - X[i]) @ (X[near] - X[i]).T
        w = np.linalg.solve(gram + reg * np.trace(gram) * np.eye(k), np.ones(k))
        R[i, near] -= w / w.sum()
    U = np.empty(Y.shape)
    for label, positive in enumerate(Y.T == 1):
        low, high = np.where(positive, 1.0, -np.inf), np.where(positive, np.inf, -1.0)
        U[:, label] = lsq_linear(R, np.zeros(n), (low, high), tol=1e-14, max_iter=2000).x
    return U


def pseudo_distributions(X, Y):
    """FLE's start: cosines with the mean of the purest rows of each label, plus the labels."""
    S = np.zeros(Y.shape)
    for label in range(Y.shape[1]):
        members = np.flatnonzero(Y[:, label])
        fewest = min(Y[i].sum() for i in members)
        prototype = np.mean([X[i] for i in members if Y[i].sum() == fewest], axis=0)
        for i in range(len(X)):
            S[i, label] = X[i] @ prototype / (np.linalg.norm(X[i]) * np.linalg.norm(prototype))
    return softmax(S + Y)


def fuzzy_clusters(X, Y, start, b, n_iter):
    """FCM: centres and memberships in turn, then the max-product of memberships and
    associations."""
    U = start / start.sum(axis=1, keepdims=True)
    for _ in range(n_iter):
        centres = [np.average(X, axis=0, weights=U[:, k] ** b) for k in range(U.shape[1])]
        squares = np.array([[np.sum((x - centre) ** 2) for centre in centres] for x in X])
        U = np.array(
            [[1 / np.sum((square / row) ** (1 / (b - 1))) for square in row] for row in squares]
        )
    A = Y.T @ U
    A = A / A.sum(axis=0)
    A = A / A.sum(axis=1, keepdims=True)
    return np.array([[max(A[label] * u) for label in range(Y.shape[1])] for u in U])


def _threshold_slices(T, tau):
    A = np.fft.fft(T, axis=0)
    for f in range(len(A)):
        U, s, V = np.linalg.svd(A[f], full_matrices=False)
        A[f] = (U * np.maximum(s - tau, 0.0)) @ V
    return np.fft.ifft(A, axis=0).real


def tensor_representations(views, beta, n_iter=45):
    """gLESC's algorithm with n x n arrays, inverses and complex slices."""
    n = views[0].shape[1]
    Z, G, W = (np.zeros((2, n, n)) for _ in range(3))
    E, Y = ([np.zeros_like(X) for X in views] for _ in range(2))
    mu = rho = 1e-4
    for _ in range(n_iter):
        for v, X in enumerate(views):
            right = (X.T @ Y[v] + mu * X.T @ X - mu * X.T @ E[v] - W[v]) / rho + G[v]
            Z[v] = np.linalg.solve(np.eye(n) + (mu / rho) * X.T @ X, right)
        F = [X - X @ Z[v] + Y[v] / mu for v, X in enumerate(views)]
        lengths = np.linalg.norm(np.vstack(F), axis=0)
        E = [f * np.maximum(1.0 - beta / mu / np.maximum(lengths, 1e-300), 0.0) for f in F]
        Y = [Y[v] + mu * (X - X @ Z[v] - E[v]) for v, X in enumerate(views)]
        G = _threshold_slices((Z + W / rho).transpose(1, 2, 0), 1.0 / rho).transpose(2, 0, 1)
        W += rho * (Z - G)
        mu, rho = 2.0 * mu, 2.0 * rho
    return Z


def represented(Y, Z, weight):
    """The scores of LESC and gLESC: the minimiser of ``|F - Y|^2 + weight |F - Z F|^2``."""
    R = np.eye(len(Z)) - Z
    return np.linalg.solve(np.eye(len(Z)) + weight * R.T @ R, Y.astype(float))


def maximum_entropy(X, D):
    """SA-BFGS without a penalty or an intercept: the softmax of least Kullback-Leibler
    divergence."""

    def loss(w):
        return -np.sum(D * np.log(softmax(X @ w.reshape(X.shape[1], -1))))

    def slope(w):
        return (X.T @ (softmax(X @ w.reshape(X.shape[1], -1)) - D)).ravel()

    found = minimize(
        loss, np.zeros(X.shape[1] * D.shape[1]), jac=slope, method="BFGS", options={"gtol": 1e-9}
    )
    return softmax(X @ found.x.reshape(X.shape[1], -1))


def neighbour_means(X, D, queries, k):
    """AA-kNN: the mean distribution of the k nearest rows."""
    return np.array(
        [D[np.argsort(cdist([x], X)[0], kind="stable")[:k]].mean(axis=0) for x in queries]
    )


def gaussian_classes(X, D, ridge):
    """PT-Bayes without draws: a Gaussian for each label, every row weighted by its degree."""
    F = np.empty(D.shape)
    for label, weights in enumerate(D.T):
        mean, covariance = (
            np.average(X, axis=0, weights=weights),
            np.cov(X.T, aweights=weights, ddof=0),
        )
        F[:, label] = weights.mean() * multivariate_normal(
            mean, covariance + ridge * np.eye(len(mean))
        ).pdf(X)
    return shares(F)
