"""Size and density of the code of packages: ``python tools/code_density.py src/ldlearn``.

Code is what is neither comment, docstring nor blank. Tokens measure its size; tokens per line and,
per 1,000 lines of code, parallel assignments (``a, b = x, y``), conditional expressions and
comprehensions measure how much a line says at once. tests/test_code_style.py keeps the limits.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from dataclasses import astuple, dataclass
from pathlib import Path

LAYOUT = (
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
)
COMPREHENSIONS = (ast.DictComp, ast.GeneratorExp, ast.ListComp, ast.SetComp)
DOCUMENTED = (ast.AsyncFunctionDef, ast.ClassDef, ast.FunctionDef, ast.Module)


@dataclass(frozen=True)
class Density:
    """Counts of a piece of code; the sum of two is that of both."""

    lines: int = 0
    tokens: int = 0
    parallel_assignments: int = 0
    conditional_expressions: int = 0
    comprehensions: int = 0

    def __add__(self, other: Density) -> Density:
        return Density(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def tokens_per_line(self) -> float:
        return self.tokens / self.lines

    def per_thousand_lines(self, name: str) -> float:
        return 1000 * float(getattr(self, name)) / self.lines


def measure_source(source: str) -> Density:
    nodes = list(ast.walk(ast.parse(source)))
    documentation = set()
    for node in nodes:
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            text = node.body[0]
            documentation.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    lines: set[int] = set()
    n_tokens = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT and token.start[0] not in documentation:
            lines.update(range(token.start[0], token.end[0] + 1))
            n_tokens += 1
    return Density(
        lines=len(lines),
        tokens=n_tokens,
        parallel_assignments=sum(map(is_parallel_assignment, nodes)),
        conditional_expressions=sum(isinstance(node, ast.IfExp) for node in nodes),
        comprehensions=sum(isinstance(node, COMPREHENSIONS) for node in nodes),
    )


def is_parallel_assignment(node: ast.AST) -> bool:
    match node:
        case ast.Assign([ast.Tuple(), *_], ast.Tuple()):
            return True
    return False


def measure(folder: Path) -> Density:
    """The density of all files of a folder."""
    return sum((measure_source(path.read_text()) for path in folder.rglob("*.py")), Density())


def main() -> None:
    for name in sys.argv[1:]:
        folder = Path(name)
        packages = sorted(path for path in folder.iterdir() if any(path.glob("*.py")))
        for path in [*packages, folder]:
            found = measure(path)
            rates = [
                f"{found.per_thousand_lines(count):5.1f} {count.replace('_', ' ')}"
                for count in ("parallel_assignments", "conditional_expressions", "comprehensions")
            ]
            size = (
                f"{found.lines:6} lines {found.tokens:7} tokens {found.tokens_per_line:5.2f}/line"
            )
            print(f"{path!s:28} {size}; per 1,000 lines {', '.join(rates)}")


if __name__ == "__main__":
    main()
