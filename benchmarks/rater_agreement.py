"""How often are raters called no better than chance, justly and unjustly?

``python benchmarks/rater_agreement.py [--tables N]`` simulates tables of 40 raters and prints

- tables of honest raters only: the fraction in which any of them is found;
- tables with 28 honest raters, 4 noisy ones (every second annotation is random), 4 who click at
  random, 2 who always give the most frequent label, and 2 adversaries (each label is exchanged for
  another): the fraction of each that is found, and of honest ones whose agreement is above chance;
- the coverage of the 95 % intervals of Krippendorff's alpha, by the number of items.

The degrees of an item are drawn from a Dirichlet distribution. *Clear* items have agreeing honest
raters, *unclear* ones have not; labels are equally frequent or *skewed*. In the row with several
labels a rater gives each of three drawn labels once. ``each`` is the mean number of annotations of
a rater.
"""

from __future__ import annotations

import argparse

import numpy as np

from ldlearn.core import RaterVotes, compare_raters, krippendorff_alpha

N_RATERS = 40
HONEST = ("honest",) * N_RATERS
MIXED = (
    ("honest",) * 28 + ("noisy",) * 4 + ("random",) * 4 + ("one label",) * 2 + ("adversary",) * 2
)
EACH = (5, 15, 30, 50, 100, 500)
# Raters per item, labels, concentration of the degrees, skewed, labels per annotation.
SETTINGS = {
    "3 raters, 5 labels, clear": (3, 5, 0.5, False, 1),
    "5 raters, 5 labels, clear": (5, 5, 0.5, False, 1),
    "3 raters, 5 labels, unclear": (3, 5, 1.5, False, 1),
    "5 raters, 5 labels, unclear": (5, 5, 1.5, False, 1),
    "3 raters, 2 labels": (3, 2, 0.6, False, 1),
    "5 raters, 10 labels, skewed": (5, 10, 1.0, True, 1),
    "4 raters, 3 labels, skewed": (4, 3, 0.6, True, 1),
    "4 raters, 8 labels, several": (4, 8, 1.0, False, 3),
}


def simulate(
    rng: np.random.Generator,
    behaviours: tuple[str, ...],
    each: int,
    setting: tuple[int, int, float, bool, int],
) -> RaterVotes:
    """Votes of raters for items."""
    per_item, n_labels, concentration, skewed, n_draws = setting
    n_items = each * len(behaviours) // per_item
    shares = np.ones(n_labels) / n_labels
    if skewed:
        shares = 0.5 ** np.arange(n_labels)
        shares /= shares.sum()
    gammas = rng.gamma(concentration * shares, size=(n_items, n_labels)) + 1e-12
    D = gammas / gammas.sum(axis=1, keepdims=True)
    order = rng.random((n_items, len(behaviours))).argsort(axis=1)
    item = np.repeat(np.arange(n_items), per_item * n_draws)
    rater = np.repeat(order[:, :per_item].ravel(), n_draws)
    uniform = rng.random((len(item), 1))
    label = (D.cumsum(axis=1)[item] < uniform).sum(axis=1).clip(max=n_labels - 1)
    behaviour = np.array(behaviours)[rater]
    clicks = rng.integers(n_labels, size=len(item))
    is_random = (behaviour == "random") | ((behaviour == "noisy") & (rng.random(len(item)) < 0.5))
    label = np.where(is_random, clicks, label)
    label = np.where(behaviour == "one label", 0, label)
    label = np.where(behaviour == "adversary", (label + 1) % n_labels, label)
    return RaterVotes(item, rater, label, n_items, len(behaviours), n_labels).distinct()


def print_rates(n_tables: int) -> None:
    kinds = ("honest", "noisy", "random", "one label", "adversary")
    print("| setting | each | tables of honest raters with one found |", end="")
    print(*(f" {kind} found |" for kind in kinds), "honest above chance |")
    print("|---" * (len(kinds) + 4) + "|")
    for name, setting in SETTINGS.items():
        for each in EACH:
            rng = np.random.default_rng(0)
            wrong = 0
            found = np.zeros(N_RATERS)
            above = np.zeros(N_RATERS)
            for _ in range(n_tables):
                honest = compare_raters(simulate(rng, HONEST, each, setting))
                wrong += honest.no_better_than_chance.any()
                mixed = compare_raters(simulate(rng, MIXED, each, setting))
                found += mixed.no_better_than_chance
                above += mixed.above_chance
            rates = []
            for kind in kinds:
                is_kind = np.array(MIXED) == kind
                rates.append(f"{found[is_kind].mean() / n_tables:.3f}")
            rates.append(f"{above[:28].mean() / n_tables:.3f}")
            cells = " | ".join([name, str(each), f"{wrong / n_tables:.3f}", *rates])
            print(f"| {cells} |", flush=True)


def print_coverage(n_tables: int) -> None:
    print("\n| setting | items | coverage of alpha | of alpha by label |")
    print("|---|---|---|---|")
    for name, setting in SETTINGS.items():
        rng = np.random.default_rng(0)
        truth = krippendorff_alpha(simulate(rng, HONEST, 10_000, setting))
        for n_items in (50, 200, 1000):
            each = n_items * setting[0] // N_RATERS
            covered = []
            by_label = []
            for _ in range(4 * n_tables):
                found = krippendorff_alpha(simulate(rng, HONEST, max(each, 1), setting))
                covered.append(found.low <= truth.overall <= found.high)
                low = found.low_by_label <= truth.by_label
                high = truth.by_label <= found.high_by_label
                by_label += (low & high)[~np.isnan(found.low_by_label)].tolist()
            rates = f"{np.mean(covered):.3f} | {np.mean(by_label):.3f}"
            print(f"| {name} | {max(each, 1) * N_RATERS // setting[0]} | {rates} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=100)
    n_tables = parser.parse_args().tables
    print_rates(n_tables)
    print_coverage(n_tables)


if __name__ == "__main__":
    main()
