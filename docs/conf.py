"""Settings of the documentation site. ``make docs`` builds it; nothing is fetched from a
network."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [
    str(HERE / "_ext"),
    str(HERE.parent / "src"),
    str(HERE.parent),
]  # the last for `research`
os.environ.setdefault("OMP_NUM_THREADS", "1")

from gallery import FigureScraper  # noqa: E402

import ldlearn  # noqa: E402

project = "ldlearn"
author = "The ldlearn developers"
project_copyright = author
version = release = ldlearn.__version__
language = "en_GB"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "reference",
    "executed_pages",
    "listings",
    "less_work",
]
exclude_patterns = ["_build", "_ext", "new_method"]
suppress_warnings = [
    "config.cache"
]  # the scraper of the gallery is an object, which Sphinx cannot compare

# Pages
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
executed_not = ["research/defaults"]  # its figures come from a benchmark that it names

# Reference
autosummary_generate = False  # the extension reference writes these pages
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_use_type_comments = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "py:obj"
add_module_names = False
toc_object_entries_show_parents = "hide"
add_function_parentheses = False  # in the contents of a page they would wrap

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples")],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"[\\/]plot_",
    "ignore_pattern": r"(quickstart|__init__)\.py$",
    "image_scrapers": [FigureScraper()],
    "reset_modules": (),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "remove_config_comments": True,
    "only_warn_on_example_error": False,
    "abort_on_example_error": False,
    "copyfile_regex": "",
    "capture_repr": (),
}

# Look
html_theme = "pydata_sphinx_theme"
html_title = "ldlearn"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_favicon = "_static/mark.svg"
html_theme_options = {
    "logo": {
        "text": "ldlearn",
        "image_light": "_static/mark.svg",
        "image_dark": "_static/mark.svg",
        "alt_text": "",
    },
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_depth": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "tutorial": [], "which_method": []}
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"
copybutton_selector = "div:not(.output) > div.highlight > pre"
