"""How the documentation is built: `make docs`, in which warnings are errors."""

import os
import sys
import warnings
from pathlib import Path

import sparsefield

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
from left_out import find_left_out

# The gallery looks for short names of everything, those that have moved among them.
warnings.filterwarnings("ignore", r"sparsefield\.\w+ is sparsefield\.", FutureWarning)

project = "sparsefield"
author = copyright = "The sparsefield authors"
release = version = sparsefield.__version__

extensions = [
    "left_out",
    "myst_parser",
    "outputs",
    "policies",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/README.txt", "gallery/*.py"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_title = f"sparsefield {release}"

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

myst_enable_extensions = ["attrs_block", "deflist"]
myst_heading_anchors = 3
# The README and some pages lead to files outside of this folder; a test checks that every such file is there.
suppress_warnings = ["myst.xref_missing"]

# Examples on data that are not part of the project are built where these are; elsewhere a page says where to get them.
left_out = find_left_out(os.environ.get("SPARSEFIELD_OUTSIDE"))

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": "/plot_",
    "ignore_pattern": "|".join(rf"(^|/){name}\.py$" for name in left_out) or "nothing is left out",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "capture_repr": (),
    "matplotlib_animations": False,
    "write_computation_times": False,
}
