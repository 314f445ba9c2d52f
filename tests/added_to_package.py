"""Add a module to a package as described in CONTRIBUTING.md: one file and one import line."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def add_to_package(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    package: ModuleType,
    module: str,
    source: str,
    name: str,
) -> Any:
    """Add a module to a package until the test ends and return its object ``name``."""
    (folder / f"{module}.py").write_text(source)
    before = inspect.getsource(package)
    line = f"from {package.__name__}.{module} import {name} as {name}\n"
    changed = before.replace("\n__all__ = [", f"{line}\n__all__ = [", 1)
    assert changed != before
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    # Set first, so that monkeypatch removes them afterwards.
    monkeypatch.setitem(sys.modules, f"{package.__name__}.{module}", None)
    monkeypatch.setattr(package, module, None, raising=False)
    del sys.modules[f"{package.__name__}.{module}"]
    names: dict[str, Any] = {}
    exec(compile(changed, str(package.__file__), "exec"), names)
    for key in ("__all__", name):
        monkeypatch.setattr(package, key, names[key], raising=False)
    return names[name]
