import logging

import forked
import pytest

distributed = pytest.importorskip("distributed", reason="dask is not installed")


@pytest.fixture(scope="session", autouse=True)
def fast_dask_settings():
    """Disable message batching (ten milliseconds) and self-monitoring of Dask.

    Together they take half the time of such small fits.
    """
    import dask
    from distributed.batched import BatchedSend

    def send_at_once(self, interval, **options):
        wait_between_messages(self, 0, **options)

    wait_between_messages = BatchedSend.__init__
    unwatched = {
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",
    }
    with pytest.MonkeyPatch.context() as patch, dask.config.set(unwatched):
        patch.setattr(BatchedSend, "__init__", send_at_once)
        yield


@pytest.fixture(scope="session")
def forked_workers():
    """Fork worker processes from a process that has imported everything, which starts them
    faster."""
    import dask
    from distributed.utils import get_mp_context

    # By default a worker retries connections to a lost worker for half a minute.
    settings = {"worker.multiprocessing-method": "forkserver", "comm.timeouts.connect": "5s"}
    with dask.config.set({f"distributed.{name}": value for name, value in settings.items()}):
        get_mp_context()  # Dask must not replace our list of imports by its own
        forked.context()
        yield


@pytest.fixture(scope="package")
def cluster(forked_workers):
    """Two local worker processes, shared by all tests of this folder."""
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
    }
    with distributed.LocalCluster(**options) as cluster:
        yield cluster


@pytest.fixture
def client_of_processes(cluster):
    """A client of worker processes: for one test of each kind of estimator, frame and error."""
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="package")
def client():
    """A client of two threads in this process: the same tasks in a fifth of the time."""
    options = {
        "n_workers": 1,
        "threads_per_worker": 2,
        "processes": False,
        "dashboard_address": ":0",
    }
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def after_steps():
    """Call a function after every half-step of DLDL."""
    logger, handlers = logging.getLogger("ldlearn.joint"), []

    class Handler(logging.Handler):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def emit(self, record):
            self.function()

    def add(function):
        handlers.append(Handler(function))
        logger.addHandler(handlers[-1])

    level = logger.level
    logger.setLevel(logging.INFO)
    yield add
    logger.setLevel(level)
    for handler in handlers:
        logger.removeHandler(handler)
