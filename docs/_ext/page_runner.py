"""Run the python and console blocks of a Markdown page in order, as a reader would type them.

All blocks of a page share one namespace and one folder, which holds only the files that the page
shows in full by ``literalinclude``. A block is left alone if the line before it is the comment
``<!-- not run: reason -->``; its commands may fail if that line is ``<!-- fails -->``.
"""

from __future__ import annotations

import ast
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

LANGUAGES = ("python", "console")
_FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)$")
_COMMENT = re.compile(r"^<!--\s*(?P<text>.*?)\s*-->$")
_SECONDS = 120  # of one command
_SETTINGS = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "OMP_NUM_THREADS": "1"}
_QUOTED = re.compile(r"'[^']*'")
_SHELL = re.compile(r"[|<>;&*$`\\(]")  # what a shell would do something about


class BlockError(Exception):
    """A block of a page did not run; the message says where and why."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text, first line in the page, and the comment before it."""

    language: str
    source: str
    line: int
    comment: str = ""

    @property
    def is_run(self) -> bool:
        """Whether the page wants it to be run."""
        return not self.comment.startswith("not run")

    @property
    def commands(self) -> list[str]:
        """Commands of a console block; each may go on over lines that end in a backslash."""
        return [
            part.rstrip("\n")
            for part in re.split(r"^\$ ", self.source, flags=re.MULTILINE)
            if part.strip()
        ]


@dataclass
class Outcome:
    """What a block printed, and the picture that its last line is."""

    text: str = ""
    picture: Any = None


def find_blocks(markdown: str) -> list[Block]:
    """The python and console blocks of a page."""
    return [block for block in _fences(markdown) if block.language in LANGUAGES]


def find_files(page: Path) -> list[Path]:
    """The files that the page shows in full: its readers would save them beside what they type."""
    shown = [block.language for block in _fences(page.read_text(encoding="utf-8"))]
    named = [
        info.partition("}")[2].strip() for info in shown if info.startswith("{literalinclude}")
    ]
    return [page.parent / name for name in named]


def _fences(markdown: str) -> Iterator[Block]:
    lines = markdown.splitlines()
    number, comment = 0, ""
    while number < len(lines):
        opened = _FENCE.match(lines[number])
        if opened:
            start = number + 1
            number = start
            while number < len(lines) and lines[number].rstrip() != opened["mark"]:
                number += 1
            yield Block(opened["info"].strip(), "\n".join(lines[start:number]), start, comment)
            comment = ""
        elif lines[number].strip():
            found = _COMMENT.match(lines[number].strip())
            comment = found["text"] if found else ""
        number += 1


@dataclass
class Session:
    """Runs blocks one after the other in a folder."""

    folder: Path
    tools: Path | None = (
        None  # where `ldlearn` and `python` are; by default those of this interpreter
    )
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def run(self, block: Block) -> Outcome:
        """Run a block and return what it shows.

        Raises
        ------
        BlockError
            If it fails, or warns, or does not fail although the page says that it does.
        """
        return (
            self._run_python(block)
            if block.language == "python"
            else Outcome(self._run_console(block))
        )

    def _run_python(self, block: Block) -> Outcome:
        printed = io.StringIO()
        try:
            with (
                chdir(self.folder),
                _on_path(self.folder),
                redirect_stdout(printed),
                warnings.catch_warnings(),
            ):
                warnings.simplefilter("error")
                value = self._evaluate(block)
        except Exception as error:
            raise BlockError(f"line {block.line}: {type(error).__name__}: {error}") from error
        if hasattr(value, "figure_"):
            return Outcome(printed.getvalue(), value)
        return Outcome(printed.getvalue() + ("" if value is None else f"{value!r}\n"))

    def _evaluate(self, block: Block) -> Any:
        """Execute all statements; the value of a last line that is an expression is what a notebook
        would show."""
        tree = ast.parse("\n" * block.line + block.source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<page>", "exec"), self.namespace)
        if last is None:
            return None
        return eval(compile(ast.Expression(last.value), "<page>", "eval"), self.namespace)

    def _run_console(self, block: Block) -> str:
        if not block.commands:
            raise BlockError(
                f"line {block.line}: a console block needs lines that begin with '$ '."
            )
        return "".join(
            f"$ {command}\n{self._command(command, block)}" for command in block.commands
        )

    def _command(self, command: str, block: Block) -> str:
        # A process of its own costs two seconds of imports; only what needs a shell, or other
        # tools, gets one.
        alone = (
            self.tools is None
            and command.startswith("ldlearn ")
            and not _SHELL.search(_QUOTED.sub("", command))
        )
        code, printed = self._call(shlex.split(command)[1:]) if alone else self._spawn(command)
        if (code != 0) != (block.comment == "fails"):
            raise BlockError(f"line {block.line}: `{command}` ended with {code}:\n{printed}")
        return "".join(f"{line.rstrip()}\n" for line in printed.splitlines())

    def _spawn(self, command: str) -> tuple[int, str]:
        """Exit code and output of a command of the shell."""
        tools = self.tools or _own_tools(self.folder.with_name(self.folder.name + "-tools"))
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=kept | _SETTINGS | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
        )
        return done.returncode, done.stdout

    def _call(self, words: list[str]) -> tuple[int, str]:
        """Exit code and output of ``ldlearn words`` in this process."""
        from ldlearn.cli.main import main

        printed = io.TextIOWrapper(
            io.BytesIO(), encoding="utf-8", write_through=True
        )  # tables are written as bytes
        with (
            chdir(self.folder),
            patch.dict(os.environ, _SETTINGS),
            redirect_stdout(printed),
            redirect_stderr(printed),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")
            try:
                main(words)
            except SystemExit as end:
                code = end.code
        return int(code or 0), printed.buffer.getvalue().decode()


@contextmanager
def _on_path(folder: Path) -> Iterator[None]:
    """Modules of the folder can be imported, as by a Python that was started there."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _own_tools(folder: Path) -> Path:
    """A folder with `ldlearn` and `python` that use this interpreter and the library as it is
    imported here."""
    import ldlearn

    source = shlex.quote(str(Path(ldlearn.__file__).parents[1]))
    python = shlex.quote(sys.executable)
    if not folder.exists():
        folder.mkdir(parents=True)
        for name, module in (("python", ""), ("ldlearn", "-m ldlearn.cli")):
            script = folder / name
            script.write_text(f'#!/bin/sh\nPYTHONPATH={source} exec {python} {module} "$@"\n')
            script.chmod(0o755)
    return folder


def start(page: Path, folder: Path, tools: Path | None = None) -> Session:
    """A session for the blocks of a page."""
    for file in find_files(page):
        shutil.copy(file, folder)
    return Session(folder, tools)


def run_page(page: Path, folder: Path, tools: Path | None = None) -> list[Outcome]:
    """Run all blocks of a page in a folder; the first that fails ends it."""
    session = start(page, folder, tools)
    try:
        return [
            session.run(block)
            for block in find_blocks(page.read_text(encoding="utf-8"))
            if block.is_run
        ]
    except BlockError as error:
        raise BlockError(f"{page.name}, {error}") from error.__cause__
