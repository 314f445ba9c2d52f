"""``python -m benchmarks.leaderboard`` computes the cells that have no record yet, and writes the
page.

``--page`` writes the page alone; ``--again GLLE LP`` computes the cells of methods whose code has
changed again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.leaderboard.page import write_pages
from benchmarks.leaderboard.plans import leaderboard_plans, run_plans
from ldlearn.experiments import LogProgress

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--again", nargs="+", default=())
    given = parser.parse_args()
    if not given.page:
        run_plans(
            leaderboard_plans(),
            Path("results/leaderboard"),
            again=given.again,
            progress=LogProgress(),
        )
    print(*write_pages(), sep="\n")
