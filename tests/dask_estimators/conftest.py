import logging

import forked
import pytest

distributed = pytest.importorskip("distributed", reason="dask is not installed")


@pytest.fixture(scope="session", autouse=True)
def hasty_clusters():
    """Dask holds messages back for ten milliseconds, to send them together, and watches itself all the time.

    That is half the time of fits this small.
    """
    import dask
    from distributed.batched import BatchedSend

    def send_at_once(self, interval, **options):
        wait_between_messages(self, 0, **options)

    wait_between_messages = BatchedSend.__init__
    unwatched = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}
    with pytest.MonkeyPatch.context() as patch, dask.config.set(unwatched):
        patch.setattr(BatchedSend, "__init__", send_at_once)
        yield


@pytest.fixture(scope="session")
def quick_workers():
    """Worker processes are forked from one that has imported everything, so that they are there at once."""
    import dask
    from distributed.utils import get_mp_context

    # A worker that wants something of a lost one calls it again and again, for half a minute by default.
    settings = {"worker.multiprocessing-method": "forkserver", "comm.timeouts.connect": "5s"}
    with dask.config.set({f"distributed.{name}": value for name, value in settings.items()}):
        get_mp_context()  # Dask's own list of imports, which is set once, must not replace ours
        forked.context()
        yield


@pytest.fixture(scope="package")
def cluster(quick_workers):
    """Two worker processes on this machine, for all tests of the folder."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster:
        yield cluster


@pytest.fixture
def client_of_processes(cluster):
    """For what has to go from one process to another: each kind of estimator, frame and error once."""
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="package")
def client():
    """A worker of this process with two threads: the same tasks and runner in a fifth of the time."""
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": ":0"}
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
