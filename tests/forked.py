"""Processes that start at once: forked from a server that has imported what workers and runs
need."""

import multiprocessing

# Packages that are not installed are skipped.
IMPORTED = ["ldlearn.experiments", "distributed", "dask.dataframe", "ldlearn.dask"]


def context():
    """A multiprocessing context; all callers share the fork server."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(IMPORTED)
    return found
