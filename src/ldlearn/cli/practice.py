"""The commands for one's own tables and for data sets, in the order of the help page."""

# ruff: noqa: F401, I001
from ldlearn.cli import fit, enhance, predict, evaluate, inspect, export, demo, datasets
