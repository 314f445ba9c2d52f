"""Learn label distributions from 0/1 labels.

The estimators can be imported from here (``from ldlearn import DLDL``) or from the package of their
kind (``from ldlearn.joint import DLDL``). What is asked for is imported when it is asked for, so
that ``import ldlearn`` and ``ldlearn --version`` cost next to nothing.
"""

__version__ = "0.2.0.dev0"

TYPE_CHECKING = False  # as in typing, which would take longer to import than all the rest

if TYPE_CHECKING:  # type checkers and editors see the names where they are
    from ldlearn.base.discovery import all_estimators as all_estimators
    from ldlearn.compose import *  # noqa: F403
    from ldlearn.enhancement import *  # noqa: F403
    from ldlearn.joint import *  # noqa: F403
    from ldlearn.learning import *  # noqa: F403
    from ldlearn.uncertainty import *  # noqa: F403
else:
    from importlib import import_module as _import_module
    from importlib.util import find_spec as _find_spec

    def __getattr__(name: str) -> object:
        """An estimator, `all_estimators`, ``__all__`` or a package of ours."""
        if name == "__all__":
            return list(_modules_of_names())
        if not name.startswith("_"):
            if _find_spec(f"ldlearn.{name}") is not None:
                return _import_module(f"ldlearn.{name}")
            modules = _modules_of_names()
            if name in modules:
                globals()[name] = found = getattr(modules[name], name)
                return found
        raise AttributeError(f"module 'ldlearn' has no attribute {name!r}")

    def __dir__() -> list[str]:
        found = _import_module("pkgutil").iter_modules(__path__)  # noqa: F405
        modules = [module.name for module in found if not module.name.startswith("_")]
        return sorted(["__version__", *modules, *_modules_of_names()])

    def _modules_of_names() -> dict[str, object]:
        """The public names, and the modules that define them."""
        discovery = _import_module("ldlearn.base.discovery")
        modules = [discovery, *discovery.estimator_packages()]
        return {name: module for module in modules for name in module.__all__}
