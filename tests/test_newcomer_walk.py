"""A newcomer's walk: every command and every line of Python in README and tutorial, word by word, in an empty folder.

By default the installed package is used, and `pip`, `git` and `make` are stand-ins that check what they are asked for.
With ``LDLEARN_WALK=fresh`` (``make walk``; also where the variable CI is set) a new virtual environment is made and the
package installed into it, as a newcomer would.

A block after a line ``<!-- walk: skip -->`` is left out.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "docs/tutorial.md")
SHELL, PYTHON = ("bash", "sh", "shell", "console"), ("python", "py", "pycon")
FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>\w+)[^\n]*\n(?P<code>.*?)^(?P=indent)```\s*$", re.MULTILINE | re.DOTALL)
FRESH = os.environ.get("LDLEARN_WALK") == "fresh" or bool(os.environ.get("CI"))

DRIVER = """
import doctest, json, subprocess, sys
names = {"__name__": "__main__"}
for number, (kind, code) in enumerate(json.load(sys.stdin), start=1):
    print(f"block {number}:", code, sep="\\n", flush=True)
    if kind == "shell":
        subprocess.run(["bash", "-euo", "pipefail", "-c", code], check=True)
    elif code.lstrip().startswith(">>>"):
        test = doctest.DocTestParser().get_doctest(code, names, f"block {number}", None, 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        runner.run(test, clear_globs=False)
        names.update(test.globs)
        if runner.failures:
            sys.exit(f"block {number} does not give what it shows")
    else:
        exec(compile(code, f"block {number}", "exec"), names)
"""

STAND_INS = {
    # what a newcomer installs must be this package, with extras that exist
    "pip": """
import re, sys, tomllib
extras = tomllib.load(open({pyproject!r}, "rb"))["project"]["optional-dependencies"]
wanted = [word for word in sys.argv[2:] if not word.startswith("-")]
assert sys.argv[1] == "install" and wanted, sys.argv
for word in wanted:
    match = re.fullmatch(r"(?:ldlearn|\\.)(?:\\[([\\w,]+)\\])?", word)
    assert match, f"pip install {{word}} installs something else"
    assert set((match[1] or "").split(",")) <= {{"", *extras}}, f"no such extra: {{word}}"
""",
    "git": """
import os, sys
assert sys.argv[1] == "clone", sys.argv
os.makedirs(sys.argv[-1].rstrip("/").split("/")[-1].removesuffix(".git"))
""",
    "make": """
import re, sys
targets = set(re.findall(r"^([a-z]+):", open({makefile!r}).read(), re.MULTILINE))
missing = set(sys.argv[1:]) - targets
assert not missing, f"the Makefile has no target {{missing}}"
""",
}


def blocks(text: str) -> list[tuple[str, str]]:
    """The runnable blocks of a document: (shell or python, code)."""
    found = []
    for match in FENCE.finditer(text):
        before = text[: match.start()].rstrip().splitlines()
        kind = match["kind"].lower()
        if kind not in (*SHELL, *PYTHON) or (before and before[-1].strip() == "<!-- walk: skip -->"):
            continue
        lines = [line.removeprefix(match["indent"]) for line in match["code"].splitlines()]
        if kind == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        found.append(("python" if kind in PYTHON else "shell", "\n".join(lines)))
    return found


def write_script(path: Path, code: str) -> None:
    path.write_text(f"#!{sys.executable}\n{code}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def make_bin(folder: Path) -> Path:
    """A folder of programs: the package of this interpreter, and stand-ins for what changes the machine."""
    folder.mkdir()
    paths = {"pyproject": str(ROOT / "pyproject.toml"), "makefile": str(ROOT / "Makefile")}
    for name, code in STAND_INS.items():
        write_script(folder / name, code.format(**paths))
    write_script(folder / "ldlearn", "from ldlearn.cli.main import main\nmain()")
    for name in ("python", "python3"):  # a link would forget which environment it belongs to
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def make_fresh_environment(folder: Path) -> Path:
    """A new virtual environment with the package in it, and pip pointed at this copy of the project."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    constraints = ROOT / "constraints.txt"
    options = ["-c", str(constraints)] if constraints.exists() else []
    subprocess.run([folder / "bin" / "pip", "install", "-q", *options, f"{ROOT}[all]"], check=True)
    for name in ("pip", "git", "make"):
        paths = {"pyproject": str(ROOT / "pyproject.toml"), "makefile": str(ROOT / "Makefile")}
        (folder / "bin" / name).unlink(missing_ok=True)
        write_script(folder / "bin" / name, STAND_INS[name].format(**paths))
    return folder / "bin"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk") / "environment"
    return make_fresh_environment(folder) if FRESH else make_bin(folder)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_of_the_document_works(document, programs, tmp_path):
    path = ROOT / document
    if not path.exists():
        pytest.skip(f"{document} is not part of this copy of the project")
    steps = blocks(path.read_text(encoding="utf-8"))
    if not steps:
        pytest.skip(f"{document} shows no commands")
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LDLEARN_DATA")}
    environment |= {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "MPLBACKEND": "Agg", "HOME": str(tmp_path)}
    environment |= {"VIRTUAL_ENV": str(programs.parent)} if FRESH else {}
    done = subprocess.run(
        [programs / "python", "-c", DRIVER],
        input=json.dumps(steps),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{document}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


EXAMPLE = """
# Title
```bash
pip install "ldlearn[all]"
echo "x,a,b" > d.csv
for i in 1 2 3 4; do echo "$i,1,0"; echo "-$i,0,1"; done >> d.csv
ldlearn fit d.csv --labels a,b -o m.ldl
```
<!-- walk: skip -->
```bash
exit 1
```
```python
import numpy as np
from ldlearn.models import load_model
model = load_model("m.ldl")
```
- in a list:
  ```pycon
  >>> model.labels
  ('a', 'b')
  ```
```text
not run
```
"""


def test_the_walk_itself_can_fail(programs, tmp_path):
    """The test of the test: blocks are found, run in order in one session, and a wrong one is noticed."""
    steps = blocks(EXAMPLE)
    assert [kind for kind, _ in steps] == ["shell", "python", "python"]

    def walk(steps) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        arguments = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "check": False}
        return subprocess.run([programs / "python", "-c", DRIVER], input=json.dumps(steps), **arguments)

    assert walk(steps).returncode == 0
    wrong = (
        [("python", ">>> 1 + 1\n3")],
        [("shell", "false; true")],
        [("shell", "pip install nonsense")],
        [("python", "1/0")],
    )
    for step in wrong:
        assert walk(step).returncode != 0, step
