"""The best policy as a module that stands alone, and the run folder's README."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
import time
from dataclasses import dataclass

from promptpo.common.python_text import docstring, parsed
from promptpo.export.inline import Inlined, NotInlinable, inline
from promptpo.export.learned import BESIDE, Learned, Maker, block, imports, name_in
from promptpo.export.readme import run_readme, score_lines
from promptpo.llm.settings import BUILTIN
from promptpo.policies.sources import Source, bound_by, lines_of, names_in_use
from promptpo.spec import EnvSpec, layout, standalone_source
from promptpo.types import Candidate, Rollout
from promptpo.version import __version__

#: Separates what promptpo adds from what the language model wrote.
MARKER = "# ---- The policy, as the language model wrote it ----"

#: The same before a policy of the builtin synthesizer.
BUILTIN_MARKER = "# ---- The policy, as the builtin synthesizer wrote it ----"

#: The same before a policy that was given in a file.
FILE_MARKER = "# ---- The policy, as it was given in its file ----"

#: The same before a policy that no language model wrote.
FOUND_MARKER = "# ---- The policy, with the numbers that were found ----"

#: Above the imports that only ``prepare`` needs.
_IDLE = "if TYPE_CHECKING:  # for prepare(data) alone, which is not called here"

_PLAIN_OBSERVE = '''\
def observe(raw, env):
    """The fields of Observation as one vector, from what the environment returns."""
    if isinstance(raw, dict):
        raw = tuple(raw[key] for key in env.observation_space.spaces)
    parts = raw if isinstance(raw, tuple) else (raw,)
    return np.concatenate([np.ravel(part) for part in parts]).astype(np.float64)'''

_FLATTENED = '''\
def observe(raw, env):
    """The fields of Observation as one vector, from what the environment returns."""
    seen = {inner}(raw, env)
    if isinstance(seen, dict):
        seen = np.concatenate([np.ravel(seen[name]) for name in {names}])
    return np.ravel(seen)'''


def best_policy_files(
    spec: EnvSpec,
    candidate: Candidate,
    test: Rollout | None,
    run: str,
    *,
    model: str = "",
    learned: Learned | None = None,
) -> dict[str, str | bytes]:
    """Files to write into the run's folder, by their relative path, in this order.

    ``run`` is the folder's name, ``test`` the held-out episodes (None: none played yet);
    ``model`` is the run's, which says who wrote it; ``learned``: what its ``prepare`` returned.
    """
    beside = learned.beside if learned else None
    return {
        **({f"best/{BESIDE}": beside} if beside is not None else {}),
        "best/policy.py": policy_module(spec, candidate, test, run, model=model, learned=learned),
        "README.md": run_readme(spec, candidate, test, learned),
    }


def policy_module(
    spec: EnvSpec,
    candidate: Candidate,
    test: Rollout | None,
    run: str,
    *,
    model: str = "",
    learned: Learned | None = None,
) -> str:
    """Source of ``best/policy.py``: ``Observation``, ``observe(raw, env)`` and the policy.

    It needs numpy, and what a spec's ``observe`` imports, but not promptpo. Where ``observe``
    cannot be copied out of its spec, the module is without it and its docstring says so. What
    ``prepare`` returned stands in it; what ``prepare`` alone needs is not imported. Of a policy
    that nests too deeply to be read here it is the policy alone, as it was played.
    """
    source = candidate.source or ""
    try:
        policy = split_imports(source)
    except SyntaxError:
        return (
            f"# Of run {run}; it nests too deeply to stand alone, promptpo eval plays it.\n{source}"
        )
    idle = _idle_imports(source, policy) if learned else []
    needed = ["import numpy as np", *(s for s in policy.imports if s not in idle)]
    idle = [s for s in idle if s not in needed]
    try:
        observe = _observe(spec)
    except NotInlinable:
        observe = Inlined()
    observation = split_imports(standalone_source(spec.observation))
    imported = merged_imports(
        [
            *needed,
            *observation.imports,
            *observe.imports,
            *_preloaded(policy.body),
            *(imports(learned) if learned else ()),
            *(["from typing import TYPE_CHECKING"] if idle else ()),
        ]
    )
    header = _docstring(spec, candidate, test, run, learned, with_observe=bool(observe.definitions))
    unneeded = [f"{_IDLE}\n" + "\n".join(f"    {s}" for s in idle)] if idle else []
    top = "\n\n".join([header, "from __future__ import annotations", imported, *unneeded])
    marker = {BUILTIN: BUILTIN_MARKER, "file": FILE_MARKER}.get(model.partition(":")[0], MARKER)
    if candidate.kind in ("sample", "tuned", "network"):
        marker = FOUND_MARKER
    values = block(learned, name_in(source)) if learned else ""
    blocks = [top, observation.body, observe.text, values, f"{marker}\n\n\n{policy.body}"]
    return "\n\n\n".join(part.strip("\n") for part in blocks if part) + "\n"


def policy_part(module: str) -> str:
    """The policy itself of an exported module; any other source as it is."""
    which = next(
        (m for m in (FOUND_MARKER, BUILTIN_MARKER, FILE_MARKER) if f"\n{m}\n" in module), MARKER
    )
    before, marker, body = module.partition(f"\n{which}\n")
    if not marker:
        return module
    try:
        above, tree = _all_imports(before), parsed(body)
    except SyntaxError:
        return module  # no Python since someone has edited it: the sandbox says where
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imports = [line for line in above if any(bound_by(a) in used for a in _aliases(line))]
    return "\n".join([*imports, body.lstrip("\n")])


def _idle_imports(source: str, policy: Parts) -> list[str]:
    """The imports that nothing needs but ``prepare``."""
    used = names_in_use(parsed(source))
    return [s for s in policy.imports if not any(bound_by(a) in used for a in _aliases(s))]


def _all_imports(module: str) -> tuple[str, ...]:
    """The imports above a policy, those that its ``prepare`` alone needs among them."""
    tree = parsed(module)
    idle = [n.body for n in tree.body if isinstance(n, ast.If) and f"{_IDLE}\n" in module]
    return split_imports(module).imports + tuple(ast.unparse(n) for body in idle for n in body)


@dataclass(frozen=True)
class Parts:
    """A module's top-level imports, one statement each, and the rest of its text."""

    imports: tuple[str, ...]
    body: str


def split_imports(source: str) -> Parts:
    """Take the top-level imports out of a module; ``from __future__`` ones are dropped.

    The rest stays as it is written.
    """
    read = Source(source)
    found = [n for n in read.tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    others = [n for n in read.tree.body if not isinstance(n, ast.Import | ast.ImportFrom)]
    taken = {i for n in found for i in range(n.lineno, (n.end_lineno or n.lineno) + 1)}
    shared = taken & {i for n in others for i in (n.lineno, n.end_lineno)}
    if shared:
        body = read.without(found)
    else:
        lines = [line.rstrip("\r\n") for line in lines_of(source)]
        body = "\n".join(line for i, line in enumerate(lines, 1) if i not in taken)
    statements = tuple(ast.unparse(n) for n in found if getattr(n, "module", None) != "__future__")
    return Parts(statements, body.strip("\n"))


def merged_imports(statements: list[str]) -> str:
    """Import statements without repeats: the standard library's first, then the others."""
    unique = sorted(set(statements))
    standard = [s for s in unique if _package(s) in sys.stdlib_module_names]
    others = [s for s in unique if _package(s) not in sys.stdlib_module_names]
    return "\n\n".join("\n".join(group) for group in (standard, others) if group)


def _observe(spec: EnvSpec) -> Inlined:
    """``observe(raw, env)``, which returns a flat vector whatever form the spec's own one has."""
    if spec.observe is None:
        return Inlined(definitions={"observe": _PLAIN_OBSERVE})
    found = inline(spec.observe)
    name = spec.observe.__name__
    source = found.definitions.pop(name)
    if name == "observe" and _is_flat(source):
        found.definitions[name] = source
        return found
    inner = "spec_observe"
    found.definitions[inner] = source.replace(f"def {name}(", f"def {inner}(", 1)
    names = tuple(item.name for item in layout(spec.observation))
    found.definitions["observe"] = _FLATTENED.format(inner=inner, names=names)
    return found


def _is_flat(source: str) -> bool:
    """Whether every ``return`` is a concatenation, so that nothing is left to flatten."""
    returns = [n.value for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Return)]
    return all(
        isinstance(value, ast.Call)
        and ast.unparse(value.func) in ("np.concatenate", "np.hstack", "np.append")
        for value in returns
    )


def _preloaded(body: str) -> list[str]:
    """Imports of the modules that policies may use without importing them."""
    names = {node.id for node in ast.walk(parsed(body)) if isinstance(node, ast.Name)}
    return [f"import {module}" for module in ("math", "random") if module in names]


def _docstring(
    spec: EnvSpec,
    candidate: Candidate,
    test: Rollout | None,
    run: str,
    learned: Learned | None,
    *,
    with_observe: bool,
) -> str:
    played = test or candidate.rollout
    life = played.life if played else spec.life
    strategy = strategy_of(candidate.source or "").splitlines()
    made = Maker.of(candidate.source or "", learned).call
    use = "Observation(observe(raw, env))" if with_observe else "Observation(vector_of_its_fields)"
    needs = f" The arrays lie in {BESIDE} beside it." if learned and learned.beside else ""
    about = [
        f"Policy for {spec.name}. {spec.title}",
        "",
        *([f"Strategy: {strategy[0]}", *strategy[1:], ""] if strategy else []),
        *score_lines(candidate, test),
        f"Found by promptpo {__version__} on {time.strftime('%Y-%m-%d')}:"
        f" candidate {candidate.name} of run {run}.",
        *([f"{learned.words}{needs}"] if learned else ()),
        "",
        f"Stands alone: {made}.act({use}), with a new Policy for every episode."
        if life == 1
        else f"Stands alone: policy.act({use}), with one policy = {made} for {life} episodes;"
        " between them policy.reset(), if it has that.",
    ]
    lines = [w for line in about for w in _wrapped(line)]
    # Nothing that a model or a spec wrote may end the docstring.
    safe = "\n".join(lines).replace("\\", "/").replace('"""', "'''")
    return f'"""{safe}\n"""'


def _wrapped(line: str) -> list[str]:
    """A line of a docstring in lines that fit, under its own indentation."""
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(line.strip(), 96, initial_indent=indent, subsequent_indent=indent) or [""]


def strategy_of(source: str) -> str:
    """What the policy says of itself, whole: its class's docstring, else the module's.

    A paragraph is one line, as long as it may be; lists keep their lines.
    """
    tree = parsed(source)
    documented: list[ast.ClassDef | ast.Module] = [
        n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Policy"
    ]
    for node in [*documented, tree]:
        if words := docstring(node).strip():
            return "\n\n".join(map(_reflowed, re.split(r"\n\s*\n", words)))
    return ""


def _reflowed(paragraph: str) -> str:
    """A paragraph as one line, unless its lines are a list or are indented."""
    lines = paragraph.splitlines()
    as_written = any(re.match(r"\s|[-*+] |\d+[.)] ", line) for line in lines)
    return paragraph if as_written else " ".join(line.strip() for line in lines)


def _package(statement: str) -> str:
    return statement.split()[1].split(".", maxsplit=1)[0]


def _aliases(statement: str) -> list[ast.alias]:
    node = ast.parse(statement).body[0]
    return node.names if isinstance(node, ast.Import | ast.ImportFrom) else []
