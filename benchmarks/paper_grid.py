"""The paper's grid of 180 points for DLDL on one split of Natural Scene, as a cell of the
experiment engine.

    LDLEARN_DATA=... python benchmarks/paper_grid.py --jobs 2

Prints the seconds it takes (one minute on two cores is the aim), and how long the same points take
as separate fits, estimated from every tenth of them. Without Natural Scene on this machine it uses
generated data of the same size.
"""

from __future__ import annotations

import argparse
import tempfile
import time

from threadpoolctl import threadpool_limits

from ldlearn.datasets import dataset_info
from ldlearn.experiments import Plan, run_plan
from ldlearn.experiments.methods import build_estimator, grid_points
from ldlearn.experiments.splits import make_split

DECADES = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]
METHOD = {
    "estimator": "DLDL",
    "params": {"fit_intercept": False, "init": "pseudo"},
    "grid": {"alpha": DECADES, "beta": DECADES[:5], "gamma": DECADES},
}
LIKE = {
    "generator": "label_distributions",
    "params": {"n_samples": 2000, "n_features": 294, "n_labels": 9, "sparsity": 0.6},
}


def plan() -> Plan:
    here = dataset_info("natural_scene").state != "not here"
    datasets = {"natural_scene": {}} if here else {"like_natural_scene": LIKE}
    return Plan.from_dict(
        {"datasets": datasets, "methods": {"DLDL (paper)": METHOD}, "protocol": {"repeats": 1}}
    )


def separate_fits(work: Plan) -> float:
    """Seconds that separate fits of all points would take."""
    split = make_split(work.datasets[0].load(), work.datasets[0], work.protocol, 0)
    points = grid_points(work.methods[0].grid)
    started = time.perf_counter()
    with threadpool_limits(1):
        for point in points[::10]:
            build_estimator("DLDL", work.methods[0].params | point).fit(
                split.train.X, split.train.Y
            )
    return (time.perf_counter() - started) * len(points) / len(points[::10])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    work = plan()
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        record = run_plan(work, folder, jobs=options.jobs).records[0]
        seconds = time.perf_counter() - started
    print(
        f"{record['dataset']}: {len(record['grid'])} points in "
        f"{seconds:.1f} s with {options.jobs} job(s)"
    )
    print(f"separate fits in one process: {separate_fits(work) / seconds:.1f} times as long")


if __name__ == "__main__":
    main()
