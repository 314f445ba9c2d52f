"""How long `ldlearn` takes to answer, as a ratio to importing numpy and scikit-learn in the same
run.

python benchmarks/start_up.py
"""

from __future__ import annotations

import subprocess
import sys
import time

REPEATS = 7
PEERS = {"import numpy": ["-c", "import numpy"], "import sklearn": ["-c", "import sklearn"]}
OURS = {
    "import ldlearn": ["-c", "import ldlearn"],
    "from ldlearn import DLDL": ["-c", "from ldlearn import DLDL"],
    "ldlearn --version": ["-m", "ldlearn.cli", "--version"],
    "ldlearn --help": ["-m", "ldlearn.cli", "--help"],
    "ldlearn fit --help": ["-m", "ldlearn.cli", "fit", "--help"],
    "ldlearn methods": ["-m", "ldlearn.cli", "methods"],
}


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    # Rounds over all commands, so that a busy moment of the machine does not affect only one.
    rounds = [
        {name: seconds(command) for name, command in (PEERS | OURS).items()} for _ in range(REPEATS)
    ]
    best = {name: min(found[name] for found in rounds) for name in rounds[0]}
    print(f"{'':28}{'seconds':>9}" + "".join(f"{'/ ' + peer:>18}" for peer in PEERS))
    for name, value in best.items():
        print(f"{name:28}{value:9.3f}" + "".join(f"{value / best[peer]:18.2f}" for peer in PEERS))


if __name__ == "__main__":
    main()
