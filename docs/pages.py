"""Write the pages of environments and methods that the documentation site has beside docs/*.md.

python docs/pages.py FOLDER NAME...    draws pictures of environments into a folder; conf.py
                                       calls it so, in a process that has the variables for it
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from promptpo.common import text
from promptpo.common.blocks import Chart, Line
from promptpo.common.plaintext import fenced
from promptpo.config import fields as options_of
from promptpo.errors import PromptPOError
from promptpo.llm.recording import find_recording
from promptpo.matrix.suite import scale_of
from promptpo.methods import OWN_METHODS, find_method
from promptpo.report.chart import chart
from promptpo.spec import EnvSpec, Task, load_spec, prompt_parts, shipped_specs

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS, METHODS = ROOT / "docs" / "environments", ROOT / "docs" / "methods"
MEASURED: Mapping[str, Mapping[str, Any]] = json.loads(
    (ROOT / "docs" / "measured.json").read_text(encoding="utf-8")
)

#: Names of methods, and where docs/*.md explain them.
TITLES = {
    "promptpo": ("PromptPO", "../method.md"),
    "r2po": ("R2PO", "../methods.md#r2po"),
    "props": ("ProPS", "../methods.md#props-and-props"),
    "props+": ("ProPS+", "../methods.md#props-and-props"),
    "inspo": ("INSPO", "../methods.md#inspo"),
    "best-of-n": ("Best of N, a control", "../methods.md"),
    "random-search": ("Random search, a control", "../methods.md"),
    "tune": ("Tuning one policy", "../tuning.md"),
    "builtin": (
        "Built-in structures, tuned: a control",
        "../models.md#builtin-no-language-model-at-all",
    ),
}

#: Steps that are played before the picture of an environment is taken.
_STEPS = 25
#: Furo's colours for the names that charts use.
_COLOURS = {
    "paper": "background-primary", "raised": "background-secondary", "ink": "foreground-primary",
    "soft": "foreground-secondary", "rule": "background-border", "accent": "brand-primary",
    "strong-rule": "foreground-border", "third": "foreground-border", "bad": "problematic",
}  # fmt: skip


def page_name(method: str) -> str:
    """Return the file name of a method's page, without its ending."""
    return method.replace("+", "-plus")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown; cells are escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(c.replace("|", r"\|") for c in row) + " |" for row in lines)


def folded(title: str, source: str) -> str:
    """Return a source that is shown once its title is clicked."""
    return (
        f"<details><summary>{title}</summary>\n\n{fenced(source.rstrip(), 'python')}\n\n</details>"
    )


def shell(command: str) -> str:
    """Return a command as a block, a long one over several lines."""
    lines = command.replace(" --", " \\\n    --") if len(command) > 90 else command
    return fenced(lines, "sh")


def held_out(found: Mapping[str, Any]) -> str:
    """Return a measured held-out score in words, with its intervals."""
    parts = [("success", ".2f"), ("return", "")]
    words = []
    for name, form in parts:
        if found[name]:
            value, *ends = (format(v, form) if form else text.number(v) for v in found[name])
            words.append(f"{name} {value}" + (f" ({' to '.join(ends)})" if ends else ""))
    return ", ".join(words)


# Environments


def environment_page(ref: str, spec: EnvSpec, *, pictured: bool) -> str:
    """Return a page: picture, commands, references, best policy, what models read."""
    parts = prompt_parts(spec)
    recorded = find_recording(spec.name) is not None
    commands = [f"promptpo {ref}" if recorded else f"promptpo {ref} --model MODEL"]
    commands += [f"promptpo prompt {ref}", f"promptpo check {ref}"]
    replays = "The first line replays the recording that ships with it, and needs no key."
    sections = [
        f"# {ref}",
        parts.title,
        f"![{spec.title}]({ref}.png){{width=480px}}" if pictured else "",
        fenced("\n".join(commands), "sh"),
        replays if recorded else "",
        f"An episode has at most {spec.horizon:,} steps."
        + (f" Install `{spec.install}` for it." if spec.install else ""),
        *_references(ref, spec),
        *_best(ref),
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
    return "\n\n".join(filter(None, [*sections, *_related(ref)])) + "\n"


def _references(ref: str, spec: EnvSpec) -> Iterator[str]:
    rows = [
        [
            name,
            text.number(s.mean_return),
            "" if s.success_rate is None else f"{s.success_rate:.2f}",
        ]
        for name, s in spec.reference_scores.items()
    ]
    if not rows:
        return
    yield "## Reference values"
    yield table(["behaviour", "mean return", "success"], rows)
    yield "Random and zero actions, and the expert where there is one, are measured by"
    yield fenced(f"python -m promptpo.spec.baselines {ref} --episodes 100", "sh")
    known = scale_of(spec, "return")
    if known.best is not None and not known.source.startswith("the spec's"):
        best = text.number(known.best)
        yield f"[Benchmarks](../benchmark.md) scale returns by {best} ({known.source})."


def _best(ref: str) -> Iterator[str]:
    """Yield the section of the best policy among the measured runs on an environment."""
    runs = [found for found in MEASURED.values() if found["command"].split()[1] == ref]
    if not runs:
        return
    found = max(runs, key=lambda found: ((found["success"] or [0.0])[0], found["return"][0]))
    yield "## The best policy"
    yield f"Of {found['episodes']} held-out episodes: {held_out(found)}. It is found by"
    yield shell(found["command"])
    yield f"with promptpo {found['version']}; [each method](../methods/index.md) has such a line."
    yield folded("Its source", found["policy"])


def _related(ref: str) -> Iterator[str]:
    links = ["[all environments](index.md)", "[the shipped specs](../specs.md#the-shipped-specs)"]
    if ref in {"glucose", "pandemic", "traffic"}:
        links.append("[real-world tasks](../real_world.md)")
    if (ROOT / "env_specs" / "_twins" / "policies" / f"{ref}.py").exists():
        links.append(f"[its twin](../twins.md), `twin:{ref}`")
    yield "## See also"
    yield ", ".join(links) + "."


def write_environments() -> list[str]:
    """Write a page for each shipped spec, and an index; return what could not be drawn."""
    ENVIRONMENTS.mkdir(exist_ok=True)
    specs = {ref: load_spec(ref) for ref in shipped_specs()}
    troubles = draw_all(specs)
    rows = []
    for ref, spec in specs.items():
        pictured = (ENVIRONMENTS / f"{ref}.png").exists()
        page = environment_page(ref, spec, pictured=pictured)
        (ENVIRONMENTS / f"{ref}.md").write_text(page, encoding="utf-8")
        found = MEASURED.get(ref)
        rows.append([f"[{ref}]({ref}.md)", spec.title, held_out(found) if found else ""])
    toctree = fenced("\n".join([":hidden:", "", *specs]), "{toctree}")
    words = "The last column: held-out scores of the recordings that ship, replayed."
    index = ["# Environments", toctree, table(["spec", "task", "found"], rows), words]
    (ENVIRONMENTS / "index.md").write_text("\n\n".join(index) + "\n", encoding="utf-8")
    return troubles


# Pictures


def draw_all(specs: Mapping[str, EnvSpec]) -> list[str]:
    """Draw what has no picture, or one older than its spec; return what could not be drawn."""
    from promptpo.video.camera import choose_library

    stale = []
    for ref, spec in specs.items():
        picture, file = ENVIRONMENTS / f"{ref}.png", Path(spec.where)
        if not picture.exists() or picture.stat().st_mtime < file.stat().st_mtime:
            stale.append(ref)
    if not stale:
        return []
    drawing = choose_library(os.environ)
    environment = {**os.environ, **drawing.variables, "TROUBLE": drawing.trouble}
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, __file__, str(ENVIRONMENTS), *stale],
        env=environment,
        stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    return [line for line in done.stdout.splitlines() if line.startswith("not drawn: ")]


def draw(ref: str, to: Path) -> None:
    """Take a picture of an environment, a few steps into an episode of its expert, or of chance.

    Nothing is written where the environment draws nothing. Raises PromptPOError.
    """
    from promptpo.rollout.seeds import episode_seeds
    from promptpo.spec.baselines import random_actions, spec_expert
    from promptpo.video.camera import open_camera, require_pictures

    spec = load_spec(ref)
    task = Task.open(spec)
    try:
        require_pictures(task.env, spec.where)
    except PromptPOError:
        return
    take = open_camera(task.env, size=None, high=True, trouble=os.environ["TROUBLE"], where=ref)
    (seed,) = episode_seeds(0, "search", 1)
    task.reset(seed)
    act = (spec_expert if spec.expert else random_actions)(task, seed)
    for _ in range(_STEPS):
        _, _, terminated, truncated, _ = task.step(act(task.raw))
        if terminated or truncated:
            task.reset(seed)
            break
    take().save(to, optimize=True)
    task.close()


# Methods


def curves(highlighted: str = "") -> str:
    """Return the learning curves of all methods as a drawing, one of them highlighted."""
    runs = {name.split()[1]: m for name, m in MEASURED.items() if name.startswith("method ")}
    right = 1.03 * max(found["curve"][-1][0] for found in runs.values())
    lines = []
    for method, found in sorted(runs.items(), key=lambda item: item[0] == highlighted):
        x, y = zip(*found["curve"], strict=True)
        css = "lead" if method == highlighted else ""
        name = TITLES[method][0].partition(",")[0]
        lines.append(Line(name, x, y, end=right, css=css, named=True))
    task = next(iter(runs.values()))["command"].split()[1]
    title = f"Best mean return in search on {task} over environment steps"
    drawn = Chart(title, "environment steps of search and tuning", tuple(lines), right=right)
    style = [f"--{ours}: var(--color-{furo})" for ours, furo in _COLOURS.items()]
    sheet = (ROOT / "promptpo/report/templates/report.css").read_text(encoding="utf-8")
    rules = re.findall(r"(?m)^\.(?:chart|line)\b.*$", sheet)
    css = "\n".join([f".curves {{ {'; '.join(style)}; --sans: inherit }}", *rules])
    return f'<style>\n{css}\n</style>\n<div class="curves">{chart(drawn)}</div>'


def _about(method: str) -> str:
    """Return what the table of docs/methods.md says of a method, its links as from a page here."""
    rows = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8").splitlines()
    for cells in (row.split(" | ") for row in rows if row.startswith("| `")):
        if f"`{method}`" in cells[0]:
            words = re.sub(r" \(\[below\]\([^)]*\)\)", "", cells[1]).replace("](", "](../")
            return words[0].upper() + words[1:] + "."
    return "No language model is asked: standard structures of the field, tuned by CMA-ES."


def method_page(method: str) -> str:
    """Return a method's page: what it is, command, curve, policy, options."""
    title, explained = TITLES[method]
    sections = [
        f"# {title}",
        _about(method),
        f"[What it does, and what of it is ours]({explained}); [all methods](index.md).",
    ]
    if found := MEASURED.get(f"method {method}"):
        steps = ", ".join(f"{n:,} of {stream}" for stream, n in found["steps"].items() if n)
        env = found["command"].split()[1]
        sections += [
            "## A run",
            shell(found["command"]),
            f"in a checkout, with promptpo {found['version']}, on"
            f" [{env}](../environments/{env}.md): {held_out(found)} in {found['episodes']} held-out"
            f" episodes; {text.plural(found['calls'], 'model call')}; steps: {steps}.",
            "## Learning curve",
            curves(method),
            "The best mean return so far, of search episodes, which is optimistic; one run each, so"
            " that it shows how a search goes and ranks no methods.",
            folded("The policy that it found", found["policy"]),
        ]
    else:
        command = f"promptpo cartpole --method {method} --model MODEL"
        command = "promptpo tune my_policy.py cartpole" if method == "tune" else command
        sections += [
            "No run of it is shown here. With a policy or a model of yours:",
            shell(command),
        ]
    if find_recording("cartpole", method, only=True):
        sections += ["A recording of it ships, too:", shell(f"promptpo cartpole --method {method}")]
    if method in OWN_METHODS and fields(find_method(method).Options):
        options = options_of(find_method(method).Options)
        rows = [[f"`{n}`", f"`{o.default}`", o.help] for n, o in options.items()]
        sections += ["## Its own options", "Given by `--set NAME=VALUE`."]
        sections += [table(["option", "default", ""], rows)]
    return "\n\n".join(sections) + "\n"


def write_methods() -> None:
    """Write a page for each method, and their index."""
    METHODS.mkdir(exist_ok=True)
    rows = []
    for method, (title, _) in TITLES.items():
        name = page_name(method)
        (METHODS / f"{name}.md").write_text(method_page(method), encoding="utf-8")
        found = MEASURED.get(f"method {method}")
        cells = ["", "", ""]
        if found:
            searched = found["steps"]["search"] + found["steps"]["tuning"]
            cells = [held_out(found), f"{searched:,}", str(found["calls"])]
        rows.append([f"[{title}]({name}.md)", *cells])
    toctree = fenced("\n".join([":hidden:", "", *map(page_name, TITLES)]), "{toctree}")
    header = ["method", "held out, 95% interval", "search and tuning steps", "calls"]
    words = (
        "Each on [mujoco_swimmer](../environments/mujoco_swimmer.md), 50,000 search steps and 12"
        " calls at most, one run each; the pages have the commands, `python docs/measure.py` runs"
        " them. [Benchmarks](../benchmark.md) compares methods over tasks, with more care."
    )
    index = ["# Methods, each with a run", toctree, table(header, rows), curves(), words]
    (METHODS / "index.md").write_text("\n\n".join(index) + "\n", encoding="utf-8")


# Links from docs/*.md


def linked(source: str, places: Mapping[str, str]) -> str:
    """Return a page in whose tables the names of environments and methods are links."""

    def link(match: re.Match[str]) -> str:
        place = places.get(match[1])
        return f"[`{match[1]}`]({place})" if place else match[0]

    lines = source.split("\n")
    return "\n".join(
        re.sub(r"(?<!\[)`([a-z0-9_+-]+)`", link, line) if line.startswith("| ") else line
        for line in lines
    )


if __name__ == "__main__":
    for wanted in sys.argv[2:]:
        try:
            draw(wanted, Path(sys.argv[1]) / f"{wanted}.png")
        except PromptPOError as error:
            print(f"not drawn: {error}", flush=True)
