"""What different authors do to zeros before they measure."""

from typing import Literal, TypeAlias, get_args

import numpy as np

from ldlearn.exceptions import InputError
from ldlearn.metrics.inputs import FloatArray

Convention: TypeAlias = Literal["exact", "pyldl", "dldl", "dldl-recovery"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)

EPS = float(np.finfo(np.float64).eps)

# How many EPS the paper's demo adds to (truth, result): recovered matrices are shifted twice there.
_DLDL_SHIFTS = {"dldl": (1, 1), "dldl-recovery": (1, 2)}


def apply_convention(
    D_true: FloatArray, D_pred: FloatArray, convention: Convention, *, clipped_by_pyldl: bool
) -> tuple[FloatArray, FloatArray]:
    """Change both matrices as the named convention does; ``"exact"`` leaves them alone."""
    if convention not in CONVENTIONS:
        raise InputError(f"convention must be one of {', '.join(CONVENTIONS)}, got {convention!r}.")
    if convention == "exact":
        return D_true, D_pred
    if convention == "pyldl":
        # From above as well, as PyLDL does.
        return (np.clip(D_true, EPS, 1), np.clip(D_pred, EPS, 1)) if clipped_by_pyldl else (D_true, D_pred)
    shift_true, shift_pred = _DLDL_SHIFTS[convention]
    return D_true + shift_true * EPS, D_pred + shift_pred * EPS
