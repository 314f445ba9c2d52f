"""Learn label distributions from 0/1 labels.

The estimators can be imported from here (``from ldlearn import DLDL``) or from the package of their kind
(``from ldlearn.joint import DLDL``).
"""

from ldlearn.compose import *  # noqa: F403
from ldlearn.compose import __all__ as _compose
from ldlearn.discovery import all_estimators
from ldlearn.enhancement import *  # noqa: F403
from ldlearn.enhancement import __all__ as _enhancement
from ldlearn.joint import *  # noqa: F403
from ldlearn.joint import __all__ as _joint
from ldlearn.learning import *  # noqa: F403
from ldlearn.learning import __all__ as _learning

__version__ = "0.1.0"
__all__ = ["all_estimators", *_joint, *_enhancement, *_learning, *_compose]
