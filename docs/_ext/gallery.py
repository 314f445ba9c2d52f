"""Pictures of the gallery: figures and displays that pyplot knows nothing about."""

from __future__ import annotations

from typing import Any

from sphinx_gallery.scrapers import figure_rst


class FigureScraper:
    """Saves every figure and display that an example has made and that is not yet shown."""

    def __init__(self) -> None:
        self._shown: list[
            Any
        ] = []  # the objects themselves: the id of one that is gone may come again

    def __repr__(self) -> str:
        return "FigureScraper"

    def __call__(self, block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
        """Return the reStructuredText that shows the new pictures."""
        paths = []
        for figure in _figures(block_vars["example_globals"]):
            if not any(figure is other for other in self._shown):
                self._shown.append(figure)
                path = next(block_vars["image_path_iterator"])
                figure.savefig(path, dpi=150)
                paths.append(path)
        return str(figure_rst(paths, gallery_conf["src_dir"]))


def _figures(variables: dict[str, Any]) -> list[Any]:
    from matplotlib.figure import Figure

    found = [getattr(value, "figure_", value) for value in variables.values()]
    return [value for value in found if isinstance(value, Figure)]
