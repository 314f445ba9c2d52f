"""One fit in a separate process: CPU seconds, memory and the resulting distributions.

``python timed_fit.py JOB.json`` is run by ``peer_pyldl.py`` in either library's environment, so it
imports nothing but numpy before the library that the job names. The job's keys are those of
``peer_pyldl.Job``; the measured numbers are printed as JSON, the distributions go to the file
``output``.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

REPEAT_FOR = (
    1.0  # CPU seconds: short fits are repeated, since the clock may have a resolution of 0.01 s
)
MEGABYTE = 2.0**20


def limit_cpu(seconds: float) -> None:
    """End this process by a signal after this much additional CPU time."""
    allowed = int(np.ceil(time.process_time() + seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (allowed, allowed + 5))


def resident() -> float:
    """Memory that is in use now, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> float:
    """Most memory in use since `reset_peak`, in bytes."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def seed() -> None:
    np.random.seed(0)  # noqa: NPY002 (the peer draws from the global generator)
    if "keras" in sys.modules:
        sys.modules["keras"].utils.set_random_seed(0)


def fitted(
    method: Any, job: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[Any, np.ndarray]:
    """A model, and distributions: of the training rows from an enhancer, of the held-out rows from
    a learner."""
    model = method(**job["parameters"])
    if job["kind"] == "learner":
        model.fit(arrays["X"], arrays["D"])
        return model, np.asarray(model.predict(arrays["X_test"]))
    model.fit(arrays["X"], arrays["Y"].copy())  # the peer's ML modifies its labels
    ours = hasattr(model, "label_distributions_")
    return model, np.asarray(model.label_distributions_ if ours else model.transform())


def timed(
    method: Any, job: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[float, Any, np.ndarray]:
    seed()
    start = time.process_time()
    model, result = fitted(method, job, arrays)
    return time.process_time() - start, model, result


def divergence(D: np.ndarray, P: np.ndarray) -> float:
    """Kullback-Leibler divergence, the mean over rows: the objective of maximum entropy models."""
    clipped = np.maximum(np.asarray(P, dtype=float), 1e-300)
    return float(np.sum(D * np.log(np.where(D > 0, D, 1.0) / clipped), axis=1).mean())


def main(job: dict[str, Any]) -> int:
    warnings.simplefilter("ignore")
    with np.load(job["arrays"]) as stored:
        arrays = dict(stored)
    method = getattr(importlib.import_module(job["module"]), job["method"])
    if job["warm_up"]:
        fitted(method, job, {name: values[:60] for name, values in arrays.items()})
    limit_cpu(job["limit"])
    reset_peak()
    before = resident()
    seconds, model, result = timed(method, job, arrays)
    memory = (peak() - before) / MEGABYTE
    if seconds < REPEAT_FOR:
        repeats = int(min(50, np.ceil(REPEAT_FOR / max(seconds, 1e-3))))
        seconds = float(np.mean([timed(method, job, arrays)[0] for _ in range(repeats)]))
    objective = (
        divergence(arrays["D"], model.predict(arrays["X"])) if job["max_entropy"] else np.nan
    )
    np.save(job["output"], result)
    print(json.dumps({"seconds": seconds, "memory": memory, "objective": objective}))
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(Path(sys.argv[1]).read_text())))
