"""Records of a simulated experiment: random distributions with their computed scores."""

import copy
import itertools
from dataclasses import replace
from functools import cache

import numpy as np

from ldlearn.core.logical import binarize
from ldlearn.core.simplex import normalize_rows
from ldlearn.evaluation import Convergence, GridPoint, Record, SampleRows
from ldlearn.metrics import score_all

DATASETS = {
    "natural_scene": [
        "plant",
        "sky",
        "cloud",
        "snow",
        "building",
        "desert",
        "mountain",
        "water",
        "sun",
    ],
    "scut_fbp": ["1", "2", "3", "4", "5"],
    "vader_tweets": ["negative", "neutral", "positive"],
    "yeast": [f"t{i}" for i in range(4)],
}
# name: (kind, baseline, distance from the truth, keeps zeros)
METHODS = {
    "DLDL": ("joint", False, 0.10, True),
    "DLDL (paper)": ("joint", False, 0.25, True),
    "L2": ("joint", False, 0.50, False),
    "GLLE": ("enhancer", False, 0.40, False),
    "FCM": ("enhancer", False, 0.55, False),
    "UniformLE": ("enhancer", True, 0.22, True),
    "PriorLE": ("enhancer", True, 0.28, True),
    "GLLE + SABFGS": ("two-step", False, 0.45, False),
    "FCM + SABFGS": ("two-step", False, 0.60, False),
    "UniformLE + MeanLDL": ("two-step", True, 0.50, False),
    "SABFGS on truth": ("learner", False, 0.15, False),
}
GRID = {"alpha": [0.001, 0.1, 10.0], "beta": [0.01, 1.0], "gamma": [0.01, 1.0, 100.0]}
VERSIONS = {
    "python": "3.11.2",
    "ldlearn": "0.1.0",
    "numpy": "2.1.0",
    "scipy": "1.14.1",
    "scikit-learn": "1.6.0",
}


def make_records(
    datasets=DATASETS, methods=METHODS, repeats=3, n_rows=40, missing=("raf_ml",), failed=()
):
    """Records of every cell; `failed` lists (dataset, method) pairs whose last repeat failed."""
    records = []
    for d, (dataset, labels) in enumerate(datasets.items()):
        for repeat, (m, method) in itertools.product(range(repeats), enumerate(methods)):
            broken = (dataset, method) in failed and repeat == repeats - 1
            # Cached; each caller gets a copy.
            record = copy.deepcopy(
                _record(
                    dataset, tuple(labels), method, methods[method], repeat, n_rows, (d, repeat, m)
                )
            )
            records.append(_failed(record) if broken else record)
    for dataset in missing:
        records += [
            _missing(dataset, method, kind, baseline)
            for method, (kind, baseline, *_) in methods.items()
        ]
    return records


def only_metrics(records, metrics):
    """The records with only these scores, for smaller pages."""

    def kept(scores):
        return scores and {name: score for name, score in scores.items() if name in metrics}

    return [
        replace(record, **{task: kept(getattr(record, task)) for task in TASKS})
        for record in records
    ]


HOSTILE = [
    "</script><script>window.pwned=1</script>",
    '"><img src=x onerror=window.pwned=1>',
    "{{ 7 * 7 }}",
    "a'b&c<d>\u2028\x00",
]


def malicious_records():
    """Records in which all texts contain markup."""
    names = dict(zip(list(METHODS)[:4], HOSTILE, strict=True))
    methods = {names.get(name, name): facts for name, facts in METHODS.items()}
    records = make_records(
        {HOSTILE[0]: HOSTILE, HOSTILE[1]: ["x", "y"]}, methods, repeats=1, missing=[HOSTILE[3]]
    )
    texts = {"message": HOSTILE[1], "warnings": [HOSTILE[0]], "versions": {HOSTILE[0]: HOSTILE[1]}}
    return [replace(record, **texts) for record in records]


def make_run(folder, records=None, **options):
    """A run folder as written by the engine, but without a plan."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        record.encoded() for record in (make_records(**options) if records is None else records)
    ]
    (folder / "records.jsonl").write_bytes(b"".join(lines))
    return folder


@cache
def _record(dataset, labels, method, facts, repeat, n_rows, seed):
    kind, baseline, distance, keeps_zeros = facts
    truth = _truth(seed[0], repeat, n_rows, len(labels))
    logical = binarize(truth)
    rng = np.random.default_rng(seed)
    recovered = _towards_noise(
        truth, distance, logical if keeps_zeros else np.ones_like(logical), rng
    )
    predicted = _towards_noise(truth, 0.2 + 0.5 * distance, np.ones_like(logical), rng)
    grid = _grid(distance, rng) if method.startswith("DLDL") or method == "L2" else []
    best = {
        task: min(grid, key=lambda point, t=task: getattr(point, t)).params if grid else {}
        for task in TASKS
    }
    recovers, predicts = kind in ("joint", "enhancer"), kind != "enhancer"
    return Record(
        cell=f"{dataset}/{method}/{repeat}",
        dataset=dataset,
        method=method,
        kind=kind,
        is_baseline=baseline,
        trained_on="truth" if kind == "learner" else "logical",
        repeat=repeat,
        seed=repeat,
        sizes={
            "n_train": n_rows,
            "n_validation": 15,
            "n_test": 15,
            "n_features": 7,
            "n_labels": len(labels),
        },
        label_names=list(labels),
        status="ok",
        selected=best,
        recovery=score_all(truth, recovered) if recovers else None,
        prediction=score_all(truth, predicted) if predicts else None,
        selection={"mode": "oracle", "recovery": "chebyshev", "prediction": "chebyshev"},
        grid=grid,
        n_points=len(grid) or 1,
        samples=SampleRows(
            rows=list(range(100 * repeat, 100 * repeat + 12)),
            truth=truth[:12].tolist(),
            logical=logical[:12].tolist(),
            recovered=recovered[:12].tolist() if recovers else None,
            texts=[f"text {row} <&>" for row in range(100 * repeat, 100 * repeat + 12)],
        ),
        convergence=_convergence(distance, rng) if method.startswith("DLDL") else None,
        seconds={
            "select": 10 * distance,
            "fit": distance + 0.01 * repeat,
            "predict": 0.001 * (1 + seed[2]),
        },
        peak_memory_mb=150.0 + 10 * seed[2],
        versions=VERSIONS,
        threads=1,
        started="2026-01-01T00:00:00",
    )


TASKS = ("recovery", "prediction")


def _truth(dataset, repeat, n_rows, n_labels):
    rng = np.random.default_rng([7, dataset, repeat])
    D = rng.dirichlet(np.full(n_labels, 0.4), size=n_rows)
    D[D < 0.01] = 0.0
    return normalize_rows(D)


def _towards_noise(truth, share, support, rng):
    noise = rng.dirichlet(np.ones(truth.shape[1]), size=len(truth)) * support
    return normalize_rows((1 - share) * truth + share * normalize_rows(noise))


def _grid(distance, rng):
    points = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    bowl = [0.02 * sum(np.log10(value) ** 2 for value in point.values()) / 4 for point in points]
    return [
        GridPoint(point, distance / 3 + b + 0.002 * rng.random(), 0.2 + distance / 4 + b / 2)
        for point, b in zip(points, bowl, strict=True)
    ]


def _convergence(distance, rng):
    falls = 50 * distance * np.exp(-0.7 * np.arange(10)) + 100
    return Convergence(falls.tolist(), float(1e-5 * (1 + rng.random())))


def _failed(record):
    empty = {
        "recovery": None,
        "prediction": None,
        "grid": [],
        "samples": None,
        "convergence": None,
        "selected": {},
    }
    return replace(
        record, **empty, status="failed", message="ValueError: the kernel matrix is singular"
    )


def _missing(dataset, method, kind, baseline):
    message = f"{dataset} is not on this machine; put its file into the data folder."
    facts = {"kind": kind, "is_baseline": baseline, "status": "missing", "message": message}
    return Record(
        cell=f"{dataset}/{method}/0", dataset=dataset, method=method, repeat=0, seed=0, **facts
    )
