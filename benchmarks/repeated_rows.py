"""How often `fit_table` calls pure noise informative if rows are repeated or belong to groups.

Each table has 100 independent units with random features and random labels: as 100 rows, as 100
rows repeated five times, and as 100 groups of five rows that share their labels and, up to a little
noise, their features. Bar: at most 5 % of the tables with repeated or grouped rows are called
informative. Prints the rate with its simulation error.

    python benchmarks/repeated_rows.py --tables 200
"""

import argparse
import warnings

import numpy as np
import pandas as pd

from ldlearn.tables import ColumnOptions, fit_table
from ldlearn.tables.table_fit import describe_signal

N_UNITS = 100
N_COPIES = 5
FEATURES = [f"x{j}" for j in range(5)]
LABELS = ["sky", "sea", "sun", "hill"]
BAR = 0.05


def noise_table(seed: int, kind: str) -> pd.DataFrame:
    """Rows whose labels do not depend on their features; ``kind`` is "distinct", "repeated" or
    "grouped"."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_UNITS, len(FEATURES)))
    Y = (rng.random((N_UNITS, len(LABELS))) < 0.4).astype(int)
    Y[np.arange(N_UNITS), rng.integers(len(LABELS), size=N_UNITS)] = 1
    units = np.arange(N_UNITS) if kind == "distinct" else np.repeat(np.arange(N_UNITS), N_COPIES)
    units = rng.permutation(units)
    features = X[units]
    if kind == "grouped":
        features = features + 0.01 * rng.normal(size=features.shape)
    table = pd.DataFrame(np.column_stack([features, Y[units]]), columns=[*FEATURES, *LABELS])
    return table.assign(unit=[f"u{unit}" for unit in units])


def is_called_informative(seed: int, kind: str) -> bool:
    """Whether a fit calls the features of a table of noise informative."""
    role = "groups" if kind == "grouped" else "ignore"
    columns = ColumnOptions(**{role: "unit"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit_table(noise_table(seed, kind), LABELS, seed=seed, columns=columns)
    return describe_signal(model.facts["holdout"]).startswith("Informative")


def main() -> None:
    """Print the rates, and whether they meet the bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=200, help="tables of each kind")
    n = parser.parse_args().tables
    for kind in ("distinct", "repeated", "grouped"):
        rate = float(np.mean([is_called_informative(seed, kind) for seed in range(n)]))
        error = np.sqrt(rate * (1 - rate) / n)
        verdict = "meets" if rate <= BAR else "misses"
        print(
            f"{kind:>9} rows: {rate:.3f} ± {error:.3f} of {n} tables are called informative "
            f"({verdict} {BAR:.0%})"
        )


if __name__ == "__main__":
    main()
