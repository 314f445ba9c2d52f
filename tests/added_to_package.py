"""Add a module to a package as described in CONTRIBUTING.md: one file, one import line and, where
names are listed, one entry of ``__all__``.
"""

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
    """Add a module to a package until the test ends and return its object ``name``; the file is in
    another folder."""
    (folder / f"{module}.py").write_text(source)
    before = inspect.getsource(package)
    line, entry = f"from {package.__name__}.{module} import {name} as {name}\n", f'    "{name}",\n'
    changed = before.replace("\n__all__ = [", f"{line}\n__all__ = [", 1).replace(
        "__all__ = [\n", f"__all__ = [\n{entry}"
    )
    assert len(changed.splitlines()) == len(before.splitlines()) + 1 + before.count("__all__ = [\n")
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
