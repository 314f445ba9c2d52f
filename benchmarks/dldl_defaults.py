"""Where do DLDL's defaults come from? The effect of gamma, beta and alpha, each table one weight.

``python benchmarks/dldl_defaults.py`` prints Markdown tables of "recovery / prediction": mean intersection over seeds
0 and 1 of shuffled 60/20/20 splits, recovery on the training part, prediction on the test part.
"votes(R)" is generated: R raters vote by a softmax of 30 features, and a label is positive if anybody chose it.
SCUT_FBP and Natural_Scene are read from a folder beside the repository if they are there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ldlearn import DLDL, PriorLE, ProjectedPriorLE, UniformLE
from ldlearn.core import binarize, softmax
from ldlearn.joint import dldl_path
from ldlearn.metrics import intersection

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from protocol import SHARED, Split

SEEDS = (0, 1)
REAL = ["vader_tweets", *(n for n in ("SCUT_FBP", "Natural_Scene") if (SHARED / f"{n}.mat").exists())]
RATIOS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
BETAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
ALPHAS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


class Votes:
    """A generated set with the attributes of a split."""

    def __init__(self, n_votes: int, seed: int, n: int = 2000, m: int = 30, c: int = 8) -> None:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, m))
        P = softmax(2.0 * X @ rng.normal(size=(m, c)) / np.sqrt(m) + rng.normal(size=c))
        D = rng.multinomial(n_votes, P) / n_votes
        cut = int(0.75 * n)
        self.X, self.X_test, self.D, self.D_test = X[:cut], X[cut:], D[:cut], D[cut:]
        self.Y = binarize(self.D)


def cell(pairs: list[tuple[float, float]]) -> str:
    recovery, prediction = np.mean(pairs, axis=0)
    return f"{recovery:.3f} / {prediction:.3f}"


def scores(model: DLDL, split: Split | Votes, n: int | None = None) -> tuple[float, float]:
    return (
        intersection(split.D[:n], model.label_distributions_),
        intersection(split.D_test, model.predict(split.X_test)),
    )


def table(title: str, header: list[str], rows: list[list[str]]) -> None:
    print(f"\n{title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def gamma_table() -> None:
    rows = []
    for name in REAL:
        splits = [Split(name, seed) for seed in SEEDS]
        for fraction in (0.25, 1.0):
            found: list[list[tuple[float, float]]] = []
            for split in splits:
                n, m = int(fraction * len(split.X)), split.X.shape[1]
                models = dldl_path(split.X[:n], split.Y[:n], gamma=[ratio * m for ratio in RATIOS])
                found.append([scores(model, split, n) for model in models])
            cells = [cell([part[k] for part in found]) for k in range(len(RATIOS))]
            rows.append([f"{name}, {n} rows", str(m), *cells])
    table("gamma / m, at the default beta, alpha = 0", ["data", "m", *(f"{ratio:g}" for ratio in RATIOS)], rows)


def beta_table() -> None:
    rows = []
    sets: dict[str, list[Split | Votes]] = {name: [Split(name, seed) for seed in SEEDS] for name in REAL}
    sets |= {f"votes({k})": [Votes(k, seed) for seed in SEEDS] for k in (5, 10, 20, 50)}
    for name, splits in sets.items():
        found = [[scores(m, s) for m in dldl_path(s.X, s.Y, beta=[*BETAS, None])] for s in splits]
        rule = np.mean([DLDL(max_iter=1).fit(s.X, s.Y).beta_ for s in splits])
        floor = max(
            np.mean([intersection(s.D, floor.fit_enhance(s.X, s.Y)) for s in splits])
            for floor in (UniformLE(), PriorLE(), ProjectedPriorLE())
        )
        cells = [cell([part[k] for part in found]) for k in range(len(BETAS) + 1)]
        rows.append([name, f"{floor:.3f}", *cells[:-1], f"{rule:.2f}: {cells[-1]}"])
    header = ["data", "best floor", *(f"{beta:g}" for beta in BETAS), "the rule"]
    table("beta, at the default gamma, alpha = 0", header, rows)


def alpha_table() -> None:
    rows = []
    for name in REAL:
        found = [
            [scores(m, s) for m in dldl_path(s.X, s.Y, alpha=ALPHAS)] for s in (Split(name, seed) for seed in SEEDS)
        ]
        rows.append([name, *(cell([part[k] for part in found]) for k in range(len(ALPHAS)))])
    table("alpha, at the default beta and gamma", ["data", *(f"{alpha:g}" for alpha in ALPHAS)], rows)


def main() -> int:
    gamma_table()
    beta_table()
    alpha_table()
    return 0


if __name__ == "__main__":
    sys.exit(main())
