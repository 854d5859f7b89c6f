"""Configuration of the documentation site.

sphinx-build -W --keep-going -c docs . site

The source folder is the repository, so that README and docs link to each other as files do. A build
begins with pages of the environments, written from the specs; nothing is simulated for them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / "docs" / "environments"
sys.path.insert(0, str(ROOT))
# Notebooks run in kernels of their own, and find Python and promptpo by these.
for name, first in ("PYTHONPATH", str(ROOT)), ("PATH", str(Path(sys.executable).parent)):
    os.environ[name] = os.pathsep.join(filter(None, (first, os.environ.get(name))))
os.environ["PROMPTPO_MODEL"] = ""


from promptpo import __version__  # noqa: E402 - found through the line above
from promptpo.common.plaintext import fenced  # noqa: E402
from promptpo.llm.recording import find_recording  # noqa: E402
from promptpo.spec import EnvSpec, load_spec, prompt_parts, shipped_specs  # noqa: E402

project = "promptpo"
author = "The promptpo authors"
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

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_in_temp = True

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
napoleon_use_ivar = True


def environment_page(ref: str, spec: EnvSpec) -> str:
    """Return the page of an environment: its commands, reference values, and what a model reads."""
    parts = prompt_parts(spec)
    recording = find_recording(spec.name)
    rows = [
        f"| {name} | {value.mean_return:,.6g} | "
        + ("" if value.success_rate is None else f"{value.success_rate:.2f}")
        + " |"
        for name, value in spec.reference_scores.items()
    ]
    commands = [f"promptpo {ref}" if recording else f"promptpo {ref} --model MODEL"]
    commands += [f"promptpo prompt {ref}", f"promptpo check {ref}"]
    sections = [
        f"# {ref}",
        parts.title,
        fenced("\n".join(commands), "sh"),
        "The first line replays the recording that ships with it, and needs no key."
        if recording
        else "",
        f"An episode has at most {spec.horizon:,} steps."
        + (f" Install `{spec.install}` for it." if spec.install else ""),
    ]
    if rows:
        header = ["| behaviour | mean return | success |", "|---|---|---|"]
        sections += ["## Reference values", "\n".join([*header, *rows])]
    sections += [
        "## The task, as a model reads it",
        fenced(parts.description, "text"),
        "### Observation",
        fenced(parts.observation, "python"),
        "### Action",
        fenced(parts.action, "text"),
        "### Reward",
        fenced(parts.reward, "python"),
    ]
    if parts.facts:
        sections += ["### Facts of the body", fenced(parts.facts, "text")]
    return "\n\n".join(filter(None, sections)) + "\n"


def write_environments(app: Sphinx) -> None:
    """Write a page for each shipped spec, and their index."""
    del app
    ENVIRONMENTS.mkdir(exist_ok=True)
    rows = []
    for ref in shipped_specs():
        spec = load_spec(ref)
        (ENVIRONMENTS / f"{ref}.md").write_text(environment_page(ref, spec), encoding="utf-8")
        rows.append(f"| [{ref}]({ref}.md) | {spec.title.replace('|', chr(92) + '|')} |")
    toctree = fenced("\n".join([":hidden:", "", *shipped_specs()]), "{toctree}")
    index = ["# Environments", toctree, "\n".join(["| spec | task |", "|---|---|", *rows])]
    (ENVIRONMENTS / "index.md").write_text("\n\n".join(index) + "\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Write the pages of the environments before sources are read."""
    app.connect("builder-inited", write_environments)
