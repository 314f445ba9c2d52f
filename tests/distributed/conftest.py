import pytest

distributed = pytest.importorskip("distributed", reason="dask is not installed")


@pytest.fixture(scope="session")
def cluster():
    """Two worker processes on this machine, for all tests of the folder."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client
