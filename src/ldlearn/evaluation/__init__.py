"""The record of a result, summaries of records, and statistics between methods.

Records and their files are in `record`, summaries of a run in `summary`, `analysis` and
`text_tables`, tests between methods over data sets in `ranking`, `pairwise_tests` and
`bayesian_test`; ``__all__`` of each lists its public names.
"""

from ldlearn.evaluation import (
    analysis,
    bayesian_test,
    pairwise_tests,
    ranking,
    record,
    summary,
    text_tables,
)
from ldlearn.evaluation.analysis import *  # noqa: F403
from ldlearn.evaluation.bayesian_test import *  # noqa: F403
from ldlearn.evaluation.pairwise_tests import *  # noqa: F403
from ldlearn.evaluation.ranking import *  # noqa: F403
from ldlearn.evaluation.record import *  # noqa: F403
from ldlearn.evaluation.summary import *  # noqa: F403
from ldlearn.evaluation.text_tables import *  # noqa: F403

_MODULES = (record, summary, text_tables, analysis, ranking, pairwise_tests, bayesian_test)
__all__ = [name for module in _MODULES for name in module.__all__]
