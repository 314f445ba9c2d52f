"""Run every command and every line of Python of README and tutorial in an empty folder.

They run in a separate environment: the unpacked wheel, and links to the requirements of its extra
``all``. So missing files or requirements are detected. Commands are forked from a process of that
environment. With ``LDLEARN_WALK=fresh`` (``make walk``) pip installs the environment instead, which
takes a minute, and commands are separate processes. `pip`, `git` and `make` of the documents are
stubs that check their arguments.

A block after a line ``<!-- walk: skip -->`` is left out.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import fork_server
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "docs/tutorial.md")
SHELL, PYTHON = ("bash", "sh", "shell", "console"), ("python", "py", "pycon")
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>\w+)[^\n]*\n(?P<code>.*?)^(?P=indent)```\s*$",
    re.MULTILINE | re.DOTALL,
)
FRESH = os.environ.get("LDLEARN_WALK") == "fresh"

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

STUBS = {
    # the installed package must be this one, with existing extras
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
        if kind not in (*SHELL, *PYTHON) or (
            before and before[-1].strip() == "<!-- walk: skip -->"
        ):
            continue
        lines = [line.removeprefix(match["indent"]) for line in match["code"].splitlines()]
        if kind == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        found.append(("python" if kind in PYTHON else "shell", "\n".join(lines)))
    return found


def write_script(path: Path, code: str) -> None:
    path.write_text(f"#!{path.parent / 'python'}\n{code}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def install(environment: Path) -> None:
    """Install the package with pip, as a new user does."""
    constraints = ROOT / "constraints.txt"
    options = ["-c", str(constraints)] if constraints.exists() else []
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run(
        [environment / "bin" / "pip", "install", "-q", *options, f"{ROOT}[all]"], check=True
    )


def assemble_offline(environment: Path) -> None:
    """The same without pip and network: the unpacked wheel, and links to its requirements of this
    interpreter."""
    pytest.importorskip("hatchling", reason="the wheel cannot be built")
    venv.create(environment, symlinks=os.name != "nt")
    (site,) = environment.glob("lib/python*/site-packages")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", environment]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = environment.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (ours,) = site.glob("ldlearn-*.dist-info")
    for part in requirements(Distribution.at(ours), {"all"}):
        for name in {file.parts[0] for file in part.files or ()} - {"..", "__pycache__"}:
            if not (site / name).exists():
                (site / name).symlink_to(part.locate_file(name))
    fork_server.write_script(
        environment / "bin" / "ldlearn",
        python=environment / "bin" / "python",
        environment=clean_environment(),
    )


def requirements(
    part: Distribution, extras: set[str], seen: frozenset[str] = frozenset()
) -> list[Distribution]:
    """The distributions that another one requires, directly or indirectly, as installed here."""
    found = []
    for requirement in map(Requirement, part.requires or ()):
        named = f"{requirement.name}{sorted(requirement.extras)}"
        wanted = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in {"", *extras}
        )
        if wanted and named not in seen:
            seen |= {named}
            other = part if requirement.name == part.name else distribution(requirement.name)
            found += [other, *requirements(other, requirement.extras, seen)]
    return found


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    environment = tmp_path_factory.mktemp("walk") / "environment"
    (install if FRESH else assemble_offline)(environment)
    paths = {"pyproject": str(ROOT / "pyproject.toml"), "makefile": str(ROOT / "Makefile")}
    for name, code in STUBS.items():
        (environment / "bin" / name).unlink(missing_ok=True)
        write_script(environment / "bin" / name, code.format(**paths))
    return environment / "bin"


def clean_environment() -> dict[str, str]:
    """The environment variables of this process without those that refer to this copy of the
    project."""
    ours = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "LDLEARN_DATA")
    return {name: value for name, value in os.environ.items() if name not in ours}


def run_document(
    steps: list[tuple[str, str]], programs: Path, folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run the steps of a document in order, with only that environment."""
    environment = clean_environment()
    environment |= {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "VIRTUAL_ENV": str(programs.parent),
    }
    environment |= {"MPLBACKEND": "Agg", "HOME": str(folder)}
    options = {
        "cwd": folder,
        "env": environment,
        "capture_output": True,
        "text": True,
        "check": False,
        "timeout": 600,
    }
    return subprocess.run([programs / "python", "-c", DRIVER], input=json.dumps(steps), **options)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_of_the_document_works(document, programs, tmp_path):
    path = ROOT / document
    if not path.exists():
        pytest.skip(f"{document} is not part of this copy of the project")
    steps = blocks(path.read_text(encoding="utf-8"))
    if not steps:
        pytest.skip(f"{document} shows no commands")
    done = run_document(steps, programs, tmp_path)
    assert done.returncode == 0, f"{document}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


EXAMPLE = """
# Title
```bash
pip install "ldlearn[all]"
ldlearn --version > version.txt
```
<!-- walk: skip -->
```bash
exit 1
```
```python
import ldlearn
version = open("version.txt").read()
```
- in a list:
  ```pycon
  >>> ldlearn.__version__ in version
  True
  ```
```text
not run
```
"""


def test_errors_in_documents_are_detected(programs, tmp_path):
    """Blocks are found, run in order in one session, and errors are detected."""
    steps = blocks(EXAMPLE)
    assert [kind for kind, _ in steps] == ["shell", "python", "python"]
    assert run_document(steps, programs, tmp_path).returncode == 0
    wrong = (
        [("python", ">>> 1 + 1\n3")],
        [("shell", "false; true")],
        [("shell", "pip install nonsense")],
        [("python", "1/0")],
        [("python", "import pytest")],  # only the requirements of the package are installed
    )
    for step in wrong:
        assert run_document(step, programs, tmp_path).returncode != 0, step
