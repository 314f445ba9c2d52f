"""
Which labels go together?
=========================

Before any method, look at the labels. Of the genes that have the function of a line, which share also has the function
of a column? A label that is nearly always there carries little information, and two labels that always come
together cannot be told apart by anything.
"""

from ldlearn.datasets import load_yeast
from ldlearn.reporting import CooccurrenceDisplay

yeast = load_yeast()
together = CooccurrenceDisplay.from_labels(yeast.Y, label_names=yeast.label_names)

# %%
# Two labels stand in three rows of four: their columns are dark throughout. They say little about any single gene.
