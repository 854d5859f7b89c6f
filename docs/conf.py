"""Configuration of the documentation site.

sphinx-build -W --keep-going -c docs . site

The source folder is the repository, so that README and docs link to each other as files do. A build
begins with the pages of environments, from specs, with a picture of each that draws, and methods,
from what docs/measure.py has measured.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]
# Notebooks run in kernels of their own, and find Python and promptpo by these.
for name, first in ("PYTHONPATH", str(ROOT)), ("PATH", str(Path(sys.executable).parent)):
    os.environ[name] = os.pathsep.join(filter(None, (first, os.environ.get(name))))
os.environ["PROMPTPO_MODEL"] = ""


import pages  # noqa: E402 - found through the lines above
from sphinx.util import logging  # noqa: E402

from promptpo import __version__  # noqa: E402
from promptpo.methods import OWN_METHODS  # noqa: E402
from promptpo.spec import shipped_specs  # noqa: E402

project = "promptpo"
author = "The promptpo authors"
html_show_copyright = False
version = release = __version__
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "ARCHITECTURE.md",
    "AGENTS.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/**",
    "runs/README.md",
    "sandbox/*.md",
]
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}

html_theme = "furo"
html_title = f"promptpo {__version__}"
html_copy_source = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_merge_streams = True

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
napoleon_use_ivar = True


def write_pages(app: Sphinx) -> None:
    """Write the pages of environments and methods; say what could not be drawn."""
    del app
    for trouble in pages.write_environments():
        logging.getLogger(__name__).warning(trouble)
    pages.write_methods()


def link_names(app: Sphinx, docname: str, source: list[str]) -> None:
    """Make links of the names of environments and methods in tables of hand-written pages."""
    if docname in ("README", "docs/specs", "docs/methods", "docs/real_world"):
        up = "docs/" if docname == "README" else ""
        places = {ref: f"{up}environments/{ref}.md" for ref in shipped_specs()}
        if docname == "docs/methods":
            places = {m: f"methods/{pages.page_name(m)}.md" for m in OWN_METHODS}
        source[0] = pages.linked(source[0], places)


def setup(app: Sphinx) -> None:
    """Write the generated pages before sources are read, and link to them."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", link_names)
