"""Rows that exceed the memory of a worker are spilled to disk.

The worker of this test may keep 1 MB of data; Python with its libraries takes a quarter of a
gigabyte. ``benchmarks/on_dask.py fit 10000000`` is the full-size run: 4 GB on two workers of 2 GB,
with Dask's limits.
"""

import dask
import dask.array as da
import numpy as np
import pytest

from ldlearn import DLDL
from ldlearn import dask as ld
from ldlearn.datasets import make_label_distributions

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")

LIMIT, HELD = 400 * 10**6, 10**6
PARAMS = {"beta": 1.0, "gamma": 3.0, "max_iter": 1, "tol": 1e-3}


def test_fit_of_three_times_the_memory_of_a_worker(forked_workers, after_steps):
    data = make_label_distributions(4000, 100, 5, labels="votes", random_state=0)
    assert data.X.nbytes >= 3 * HELD
    local = DLDL(**PARAMS).fit(data.X, data.Y)
    X, Y = (da.from_array(A, chunks=(500, -1)) for A in (data.X, data.Y))
    settings = {"target": HELD / LIMIT, "spill": False, "pause": False}
    options = {
        "n_workers": 1,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
    }
    with (
        dask.config.set(
            {f"distributed.worker.memory.{name}": value for name, value in settings.items()}
        ),
        distributed.LocalCluster(**options, memory_limit=LIMIT) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        spilled = []

        def look():  # workers cannot import this file, but lambdas are pickled by value
            spilled.extend(
                client.run(lambda dask_worker: dask_worker.data.spilled_total.disk).values()
            )

        after_steps(look)
        model = ld.DaskDLDL(**PARAMS, client=client).fit(X, Y)
        D = client.compute(model.label_distributions_, sync=True)
    assert max(spilled) >= data.X.nbytes - HELD
    np.testing.assert_allclose(D, local.label_distributions_, atol=1e-6)
