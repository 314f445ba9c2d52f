"""Sphinx extension: formulas as MathML, which browsers draw themselves: no script, no font, no
network."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

_SPACE = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", _SPACE)
# Docstrings write these as plain words, which reads better in a terminal; in a formula they are
# names.
_NAMES = re.compile(r"(?<![\\A-Za-z{])(KL|softmax|tr|proj|diag|lse|rank|mean)(?![A-Za-z}])")


def to_mathml(formula: str, display: str) -> str:
    """A formula of TeX as MathML."""
    tree = ElementTree.fromstring(
        convert(_NAMES.sub(r"\\operatorname{\1}", formula), display=display)
    )
    for element in tree.iter():
        if element.text == "|":  # a norm, not a relation with space around it
            element.attrib |= {"stretchy": "false", "lspace": "0", "rspace": "0"}
        if display == "block" and _has_limits_below(element):
            element.tag = f"{{{_SPACE}}}munder"
    return ElementTree.tostring(tree, encoding="unicode")


def _has_limits_below(element: ElementTree.Element) -> bool:
    return element.tag.endswith("}msub") and element[0].text in ("min", "max")


def _render(node: nodes.Element, display: str) -> str:
    try:
        return to_mathml(node.astext(), display)
    except Exception as error:
        logger.warning(
            "formula %r: %s: %s", node.astext(), type(error).__name__, error, location=node
        )
        return ""


def _inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(_render(node, "inline"))
    raise nodes.SkipNode


def _block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Parts that a wide space sets apart get lines of their own, so that they fit a narrow page."""
    lines = "".join(
        _render(nodes.math_block("", part), "block") for part in node.astext().split(r"\qquad")
    )
    self.body.append(f'<div class="formula">{lines}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer; conf.py chooses it by ``html_math_renderer``."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
