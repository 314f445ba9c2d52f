"""Text embeddings given by name.

A model file stores only the name, and loading it imports nothing.
"""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldlearn._optional_imports import import_optional
from ldlearn.exceptions import ParameterError, TableError

_SENTENCES = "sentence-transformers"
_PROBE = ["A text that tells embeddings apart."]

# Embeddings that were imported in this process; a model can use only these.
_imported: dict[str, Callable[[list[str]], Any]] = {}


@dataclass
class NamedEmbedding:
    """A text embedding outside the model; see `import_embedding`.

    Attributes
    ----------
    name : str
        ``module:attribute``, or ``sentence-transformers:MODEL``.
    probe : ndarray of shape (1, width)
        The embedding of a fixed text at the fit, to detect another version.
    """

    learned: ClassVar = {
        "name": "str",
        "probe": "float (1, n_features)",
    }

    name: str
    probe: NDArray[np.float64] = field(default_factory=lambda: np.empty((1, 0)))

    def transform(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """The embeddings of texts, a row each."""
        # Loose enough for another processor, which rounds otherwise.
        if not np.allclose(self._embed(_PROBE), self.probe, rtol=1e-3, atol=1e-5):
            problem = f"the embedding {self.name!r} gives other numbers than at the fit"
            raise TableError(f"{problem}; install that version.")
        # Equal texts get equal numbers, which batches of different lengths would round differently.
        positions: dict[str, int] = {}
        rows = [positions.setdefault(text, len(positions)) for text in texts]
        return self._embed(list(positions))[rows]

    def get_feature_names_out(self) -> list[str]:
        """Numbers have no names."""
        return [str(k) for k in range(self.probe.shape[1])]

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        if self.name not in _imported:
            raise TableError(
                f"the model needs the embedding {self.name!r:.80}, which is not part of it; if you "
                "trust that code, name it again (--embedding, or ldlearn.tables.import_embedding)."
            )
        try:
            found = np.asarray(_imported[self.name](list(texts)), dtype=np.float64)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise TableError(
                f"the embedding {self.name!r} fails on a list of texts ({reason})."
            ) from error
        if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
            raise TableError(
                f"the embedding {self.name!r} must give a row of finite numbers for each text."
            )
        return found


def import_embedding(name: str) -> NamedEmbedding:
    """Import an embedding, for this process: models that were fitted with it work from now on.

    Parameters
    ----------
    name : str
        ``module:attribute`` of a function that takes a list of texts and gives a matrix, or of an
        object (or a class without arguments) with such a method ``transform`` or ``encode``; it
        must not need a fit. Or ``sentence-transformers:MODEL``, if that library is installed. The
        folder you are in is looked at too.

    Returns
    -------
    NamedEmbedding
        To be given to `fit_table` or `TableModel.fit` as ``embedding``.

    Notes
    -----
    Importing runs code: that of the module named here, and never what a model file names. A file
    keeps the name, and `predict` asks for it again.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ParameterError(
            f"An embedding is named as module:attribute or {_SENTENCES}:MODEL, got {name!r}."
        )
    import_function = _import_function
    if module == _SENTENCES:
        import_function = _load_sentence_model
    _imported[name] = import_function(name)
    embedding = NamedEmbedding(name)
    embedding.probe = embedding._embed(_PROBE)
    return embedding


def _load_sentence_model(name: str) -> Callable[[list[str]], Any]:
    library = import_optional("sentence_transformers", None, f"Embeddings such as {name}")
    model = name.removeprefix(f"{_SENTENCES}:")
    try:
        return _as_function(library.SentenceTransformer(model), model)
    # No such model, or no network: what is raised depends on the version.
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
        raise ParameterError(
            f"The model {model!r} of {_SENTENCES} cannot be loaded ({reason})."
        ) from None


def _import_function(name: str) -> Callable[[list[str]], Any]:
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)  # after everything else; it stays, for what the module imports later
    try:
        found = resolve_name(name)
    except Exception as error:
        raise ParameterError(
            f"{name!r} cannot be imported ({type(error).__name__}: {error})."
        ) from None
    return _as_function(found, name)


def _as_function(found: Any, name: str) -> Callable[[list[str]], Any]:
    if isinstance(found, type):
        found = found()
    for method in ("transform", "encode"):
        if hasattr(found, method):
            return getattr(found, method)
    if not callable(found):
        raise ParameterError(f"{name!r} is no function, and has no method transform or encode.")
    return found
