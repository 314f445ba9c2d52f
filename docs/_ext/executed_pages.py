"""Sphinx extension: run the python and console blocks of every Markdown page and show what they
print.

Nothing that a reader sees as output is typed. A block that fails is a warning, and warnings stop
the build.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from docutils import nodes
from page_runner import LANGUAGES, BlockError, Outcome, find_blocks, start
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

logger = logging.getLogger(__name__)


class RunBlocks(SphinxTransform):
    """Put the output of each block behind it."""

    default_priority = 200

    def apply(self, **kwargs: Any) -> None:
        """Run the blocks of the page, unless it is not Markdown or has none."""
        page = Path(self.env.doc2path(self.env.docname))
        if (
            page.suffix != ".md"
            or not self.config.executed_pages
            or self.env.docname in self.config.executed_not
        ):
            return
        shown = [node for node in self.document.findall(nodes.literal_block) if _is_block(node)]
        blocks = find_blocks(page.read_text(encoding="utf-8"))
        if [block.source for block in blocks] != [node.astext().rstrip("\n") for node in shown]:
            logger.warning(
                "the blocks of the page and of its doctree differ", location=self.env.docname
            )
            return
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "page")
            folder.mkdir()
            session = start(page, folder)
            for number, (block, node) in enumerate(zip(blocks, shown, strict=True)):
                if block.is_run:
                    self._show(session.run(block), node, number)

    def _show(self, outcome: Outcome, node: nodes.literal_block, number: int) -> None:
        if node["language"] == "console":
            node.replace_self(_literal(outcome.text, "console", "transcript"))
            return
        following: list[nodes.Node] = [node]
        if outcome.text:
            following.append(_literal(outcome.text, "text", "output"))
        if outcome.picture is not None:
            following.append(self._picture(outcome.picture, number))
        node.replace_self(following)

    def _picture(self, display: Any, number: int) -> nodes.Node:
        name = f"{self.env.docname.replace('/', '-')}-{number}.svg"
        target = Path(self.env.srcdir, "_pictures", name)
        target.parent.mkdir(exist_ok=True)
        display.save(target)
        alt = f"{type(display).__name__}, drawn by the code above"
        image = nodes.image(uri=f"/_pictures/{name}", alt=alt, classes=["picture"])
        return nodes.container("", image, classes=["picture-frame"])


class _Reporting(RunBlocks):
    def apply(self, **kwargs: Any) -> None:
        try:
            super().apply(**kwargs)
        except BlockError as error:
            logger.warning("%s", error, location=self.env.docname)


def _is_block(node: nodes.literal_block) -> bool:
    """Whether it stands in the page itself; a file that is shown there names its source."""
    return node.get("language") in LANGUAGES and "source" not in node


def _literal(text: str, language: str, kind: str) -> nodes.literal_block:
    text = text.rstrip("\n")
    return nodes.literal_block(text, text, language=language, classes=[kind])


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the transform."""
    app.add_config_value("executed_pages", True, "env", bool)
    app.add_config_value("executed_not", [], "env", list)
    app.add_transform(_Reporting)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
