"""Processes that are there at once: forked from one that has imported what workers and runs need."""

import multiprocessing

# What is not installed is passed over.
IMPORTED = ["ldlearn.experiments", "distributed", "dask.dataframe", "ldlearn.dask"]


def context():
    """A context of multiprocessing; all that ask for it share the process that forks."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(IMPORTED)
    return found
