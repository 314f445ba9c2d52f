"""The commands of `ldlearn`, one line each, in the order of the help page.

A command is a file of this package with a function of the same name (an underscore stands for a hyphen, and behind a
word of Python's own), or with a `typer.Typer` of that name where the command has commands of its own. The file is
imported only when its command is run or asked for help, so that nobody waits for what others need: it may import
whatever it wants at its top.
"""

from __future__ import annotations

from dataclasses import dataclass

OWN_TABLES = "Your own tables"
EXPERIMENTS = "Methods, data sets and experiments"


@dataclass(frozen=True)
class Command:
    """What the help page says of a command without importing it.

    Attributes
    ----------
    name : str
        What is typed.
    help : str
        The first line of the function's docstring.
    panel : str
        The heading of the help page under which it stands.
    """

    name: str
    help: str
    panel: str


COMMANDS = (
    Command("fit", "Fit a model on a table with 0/1 label columns, and say how far to trust it.", OWN_TABLES),
    Command("enhance", "Turn the 0/1 labels of rows into degrees: by a fitted model, or by a method.", OWN_TABLES),
    Command("predict", "Predict the degrees of new rows; tables larger than the memory are fine.", OWN_TABLES),
    Command("evaluate", "Score a model against true degrees or 0/1 labels, beside two baselines.", OWN_TABLES),
    Command("inspect", "Show what a model was fitted on, its parameters, scores and warnings.", OWN_TABLES),
    Command("export", "Write a linear model as ONNX, its preprocessing included.", OWN_TABLES),
    Command("compare", "Compare two files of distributions, row by row: mean of every metric.", OWN_TABLES),
    Command("import", "Make a table of answers by raters: Label Studio, doccano, or a long table.", OWN_TABLES),
    Command("compare-methods", "Try several methods on a table: which suits it, and how much they differ.", OWN_TABLES),
    Command("demo", "Show the whole way on real data: tweets that 20 to 99 people rated.", OWN_TABLES),
    Command("methods", "List the methods: name, kind, what it does.", EXPERIMENTS),
    Command("datasets", "List the data sets that can be had by name, and where they are.", EXPERIMENTS),
    Command("run", "Run an experiment; records go to OUTPUT/records.jsonl.", EXPERIMENTS),
    Command("report", "Write the report of a run: one HTML page, tables in Markdown and LaTeX, figures.", EXPERIMENTS),
)
