"""Kill a run with SIGKILL at random moments, let it complete, and compare its records with an
uninterrupted run's.

    python benchmarks/kill_runs.py --kills 20 --jobs 1

Prints how many kills hit a running process, how many left a truncated line, and whether the records
are equal; the exit code is 1 if they are not.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from ldlearn.experiments import Plan, read_records, run_plan

METHODS = {
    "UniformLE": {},
    "DLDL": {"grid": {"alpha": [0.0, 0.1], "beta": [0.1, 1.0], "gamma": [0.1, 1.0]}},
    "PriorLE + SABFGS": {
        "estimator": "PriorLE",
        "learner": "SABFGS",
        "learner_grid": {"l2": [0.1, 1.0]},
    },
}


def plan(repeats: int) -> Plan:
    data = {
        "generator": "label_distributions",
        "params": {"n_samples": 100, "n_features": 5, "n_labels": 4},
    }
    return Plan.from_dict(
        {"datasets": {"made": data}, "methods": METHODS, "protocol": {"repeats": repeats}}
    )


def start(work: Plan, folder: Path, jobs: int) -> int:
    """Run in a forked child process, which needs no imports; return its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        run_plan(work, folder, jobs=jobs)
        code = 0
    finally:
        os._exit(code)


def end(child: int, kill: bool) -> bool:
    """Wait for the child; True if it was killed before it finished."""
    if kill:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def has_truncated_line(folder: Path) -> bool:
    path = folder / "records.jsonl"
    return path.is_file() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")


def compare(
    kills: int, repeats: int, jobs: int = 1, seed: int = 0, longest: float | None = None
) -> tuple[bool, str]:
    """Whether a run killed this often has the records of an uninterrupted run, and a summary."""
    work, rng = plan(repeats), random.Random(seed)
    with tempfile.TemporaryDirectory() as base:
        whole, killed = Path(base, "whole"), Path(base, "killed")
        started = time.monotonic()
        assert not end(start(work, whole, jobs), kill=False)
        seconds = time.monotonic() - started
        hits = truncated = 0
        for _ in range(kills):
            child = start(work, killed, jobs)
            time.sleep(rng.uniform(0.0, longest or 1.8 * seconds / kills))
            hits += end(child, kill=True)
            truncated += has_truncated_line(killed)
        before = (
            len(read_records(killed, history=True)) if (killed / "records.jsonl").is_file() else 0
        )
        assert not end(start(work, killed, jobs), kill=False)
        same = [r.without_timing for r in read_records(whole)] == [
            r.without_timing for r in read_records(killed)
        ]
        no_duplicates = len(read_records(killed, history=True)) == len(METHODS) * repeats
    summary = (
        f"{len(METHODS) * repeats} cells, {seconds:.1f} s uninterrupted with {jobs} job(s)\n"
        f"{hits} of {kills} kills hit a running process; {truncated} left a truncated line; "
        f"{before} cells were kept\n"
        f"records identical to the uninterrupted run's: {same}; no duplicate cells: {no_duplicates}"
    )
    return bool(same and hits and no_duplicates), summary


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--longest", type=float, help="seconds that a run may live (processes take some to start)"
    )
    is_equal, summary = compare(**vars(parser.parse_args()))
    print(summary)
    return 0 if is_equal else 1


if __name__ == "__main__":
    sys.exit(main())
