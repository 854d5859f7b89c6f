"""The best policy as a module that stands alone, a loop that plays it, and the run's README."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
import time
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from promptpo.common import text
from promptpo.common.python_text import docstring, parsed
from promptpo.export.inline import Inlined, NotInlinable, inline
from promptpo.export.learned import BESIDE, Learned, argument, name_in
from promptpo.llm.messages import BUILTIN
from promptpo.policies.sources import Source, bound_by, lines_of, names_in_use
from promptpo.spec import EnvSpec, layout, standalone_source
from promptpo.spec.validation import PUBLISHED
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

#: Episodes that the loop plays, with the returns that the run measured for them.
_SHOWN = 3

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


@dataclass(frozen=True)
class BestPolicy:
    """A policy of a run as files for people.

    Attributes:
        spec, candidate: the task and the policy.
        played: the episodes behind its score: held-out ones, else those by which it was chosen.
        run: the name of the run's folder.
        model: the run's model, which wrote it.
        learned: the values that its ``prepare`` returned.
    """

    spec: EnvSpec
    candidate: Candidate
    played: Rollout | None
    run: str
    model: str = ""
    learned: Learned | None = None

    @property
    def files(self) -> dict[str, str | bytes]:
        """The files to write into the run's folder, by their relative path, in this order."""
        beside = self.learned.beside if self.learned else None
        loop, needs = self.loop('Path(__file__).parents[1] / "spec"')
        readme = template("run_readme.md").substitute(
            spec=self.spec.name,
            title=self.spec.title,
            candidate=self.candidate.name,
            scores="\n".join(f"- {line}" for line in self.facts),
            beside=template("beside_row.md").substitute(place="best/") if beside else "",
            needs=needs,
            loop=loop,
        )
        files = {"best/policy.py": self.module, "README.md": readme}
        return {**({f"best/{BESIDE}": beside} if beside is not None else {}), **files}

    @property
    def module(self) -> str:
        """The source of ``best/policy.py``: ``Observation``, ``observe(raw, env)`` and ``Policy``.

        It needs numpy, and what a spec's ``observe`` imports, but not promptpo. Where ``observe``
        cannot be copied out of its spec, the module is without it and its docstring says so. What
        ``prepare`` returned stands in it; what ``prepare`` alone needs is not imported. Of a policy
        that nests too deeply to be read here it is the policy alone, as it was played.
        """
        source, learned = self._source, self.learned
        try:
            policy = split_imports(source)
        except SyntaxError:
            why = "it nests too deeply to stand alone, promptpo eval plays it"
            return f"# Of run {self.run}; {why}.\n{source}"
        try:
            observe = _observe(self.spec)
        except NotInlinable:
            observe = Inlined()
        observation = split_imports(standalone_source(self.spec.observation))
        acting = names_in_use(parsed(source)) if learned else set()
        idle = [s for s in policy.imports if learned and not _binds(s, acting)]
        needed = ["import numpy as np", *(s for s in policy.imports if s not in idle)]
        idle = [s for s in idle if s not in needed]
        names = {node.id for node in ast.walk(parsed(policy.body)) if isinstance(node, ast.Name)}
        # Modules that policies may use without importing them.
        needed += [f"import {module}" for module in ("math", "random") if module in names]
        needed += [*observation.imports, *observe.imports, *(learned.imports if learned else ())]
        needed += ["from typing import TYPE_CHECKING"] if idle else []
        header = self._docstring(with_observe=bool(observe.definitions))
        top = [header, "from __future__ import annotations", merged_imports(needed)]
        if idle:
            top.append("\n    ".join([_IDLE, *idle]))
        kind = self.model.partition(":")[0]
        marker = {BUILTIN: BUILTIN_MARKER, "file": FILE_MARKER}.get(kind, MARKER)
        if self.candidate.kind in ("sample", "tuned", "network"):
            marker = FOUND_MARKER
        values = learned.block(name_in(source)) if learned else ""
        parts = ["\n\n".join(top), observation.body, observe.text, values, marker, policy.body]
        return "\n\n\n".join(part.strip("\n") for part in parts if part) + "\n"

    @property
    def facts(self) -> list[str]:
        """Its score in words, and of which episodes it is; and what it has learned."""
        run = self.played
        kind = "Held-out episodes"
        if run is not None and run.stream != "test":
            kind = f"{run.stream.capitalize()} episodes (it was chosen by these: optimistic)"
        if run is None:
            lines = ["No episode was played."]
        elif run.error is not None:
            lines = [f"{kind}: failed, {text.gist(run.error)}"]
        else:
            scores = (text.success_words(run), text.tenth_words(run), text.return_words(run))
            words = (*scores, *map(text.reading_words, run.readings))
            lines = [f"{kind}: {line}." for line in words if line]
        return [*lines, *([self.learned.words] if self.learned else ())]

    def loop(self, place: str) -> tuple[str, str]:
        """Return a script that runs ``policy.py`` on some of the played episodes, and its needs.

        The script is plain Gymnasium where the spec's functions can be copied out of it. Where they
        cannot, it opens the task through promptpo, from the copy of the spec at ``place``, which is
        an expression that has the script's own place in it.
        """
        spec, run, life = self.spec, self.played, self._life
        values_name = argument(self._source, self.learned)
        call = f"Policy({values_name})"
        episodes = list(zip(run.seeds, run.returns, strict=False)) if run else []
        count = _SHOWN if life == 1 else min(_SHOWN, life)
        rows = "".join(f"\n    ({seed}, {value!r})," for seed, value in episodes[:count])
        values = {
            "episodes": f"[{rows}\n]" if rows else "[]",
            "names": ", ".join(filter(None, (values_name, "Observation", "Policy"))),
            "policy_for_all": "",
            "policy_for_one": f"policy = {call}",
            "life": "",
        }
        if life > 1:
            values["policy_for_all"] = "policy = None  # one for all of these\n"
            values["policy_for_one"] = (
                f"if policy is None:\n        policy = {call}\n"
                '    elif hasattr(policy, "reset"):\n        policy.reset()'
            )
            values["life"] = f", {life}"
        try:
            functions = inline(spec.make, *([spec.reset] if spec.reset else []))
            if spec.observe is not None:
                inline(spec.observe)  # or policy.py is without it
        except NotInlinable:
            functions = None
        if functions is None or spec.new_life is not None:  # which is told the life of a seed
            published = ", published=True" if spec.ref.endswith(PUBLISHED) else ""
            values["spec"] = f"load_spec({place}{published})"
            needs = "promptpo, because the environment is part of the spec (`spec/`)"
            return template("task_loop.txt").substitute(values), needs
        reset = f"{spec.reset.__name__}(env, seed)" if spec.reset else "env.reset(seed=seed)[0]"
        values |= {
            "imports": "\n".join(sorted({"import numpy as np", *functions.imports})),
            "definitions": functions.text,
            "make": spec.make.__name__,
            "reset": reset,
            "horizon": str(spec.horizon),
        }
        needs = f"numpy and {spec.install or 'gymnasium'}, not promptpo"
        return template("gymnasium_loop.txt").substitute(values), needs

    @property
    def _source(self) -> str:
        return self.candidate.source or ""

    @property
    def _life(self) -> int:
        return self.played.life if self.played else self.spec.life

    def _docstring(self, *, with_observe: bool) -> str:
        life, call = self._life, f"Policy({argument(self._source, self.learned)})"
        seen = "observe(raw, env)" if with_observe else "vector_of_its_fields"
        use = f"Stands alone: {call}.act(Observation({seen})), with a new Policy for every episode."
        if life > 1:
            use = (
                f"Stands alone: policy.act(Observation({seen})), with one policy = {call} for"
                f" {life} episodes; between them policy.reset(), if it has that."
            )
        strategy = strategy_of(self._source)
        beside = self.learned is not None and self.learned.beside is not None
        about = [
            f"Policy for {self.spec.name}. {self.spec.title}\n",
            *([f"Strategy: {strategy}\n"] if strategy else []),
            *self.facts,
            *([f"The arrays lie in {BESIDE} beside it."] if beside else []),
            f"Found by promptpo {__version__} on {time.strftime('%Y-%m-%d')}:"
            f" candidate {self.candidate.name} of run {self.run}.\n",
            use,
        ]
        lines: list[str] = []
        for line in "\n".join(about).split("\n"):
            indent = line[: len(line) - len(line.lstrip())]
            wrapped = textwrap.wrap(line, 96, initial_indent=indent, subsequent_indent=indent)
            lines += wrapped or [""]
        # Nothing that a model or a spec wrote may end the docstring.
        safe = "\n".join(lines).replace("\\", "/").replace('"""', "'''")
        return f'"""{safe}\n"""'


def policy_part(module: str) -> str:
    """Return the policy itself of an exported module; any other source as it is."""
    markers = (FOUND_MARKER, BUILTIN_MARKER, FILE_MARKER)
    which = next((m for m in markers if f"\n{m}\n" in module), MARKER)
    before, marker, body = module.partition(f"\n{which}\n")
    if not marker:
        return module
    try:
        above, tree = parsed(before), parsed(body)
        statements = [*split_imports(before).imports]
    except SyntaxError:
        return module  # no Python since someone has edited it: the sandbox says where
    if f"{_IDLE}\n" in before:
        idle = [node.body for node in above.body if isinstance(node, ast.If)]
        statements += [ast.unparse(node) for body in idle for node in body]
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return "\n".join([*(s for s in statements if _binds(s, used)), body.lstrip("\n")])


def _binds(statement: str, names: set[str]) -> bool:
    """Tell whether an import statement defines one of these names."""
    (node,) = ast.parse(statement).body
    aliases = node.names if isinstance(node, ast.Import | ast.ImportFrom) else []
    return any(bound_by(alias) in names for alias in aliases)


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
    imports = [n for n in read.tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    others = [n for n in read.tree.body if not isinstance(n, ast.Import | ast.ImportFrom)]
    taken = {i for n in imports for i in range(n.lineno, (n.end_lineno or n.lineno) + 1)}
    shared = taken & {i for n in others for i in (n.lineno, n.end_lineno)}
    if shared:
        body = read.without(imports)
    else:
        lines = [line.rstrip("\r\n") for line in lines_of(source)]
        body = "\n".join(line for i, line in enumerate(lines, 1) if i not in taken)
    statements = tuple(
        ast.unparse(n) for n in imports if getattr(n, "module", None) != "__future__"
    )
    return Parts(statements, body.strip("\n"))


def merged_imports(statements: list[str]) -> str:
    """Return import statements without repeats: the standard library's first, then the others."""
    groups: dict[bool, list[str]] = {True: [], False: []}
    for statement in sorted(set(statements)):
        package = statement.split()[1].split(".")[0]
        groups[package in sys.stdlib_module_names].append(statement)
    return "\n\n".join("\n".join(group) for group in groups.values() if group)


def _observe(spec: EnvSpec) -> Inlined:
    """Return ``observe(raw, env)`` that returns a flat vector whatever the spec's own returns."""
    if spec.observe is None:
        return Inlined(definitions={"observe": _PLAIN_OBSERVE})
    copies = inline(spec.observe)
    name = spec.observe.__name__
    source = copies.definitions.pop(name)
    if name == "observe" and _is_flat(source):
        copies.definitions[name] = source
        return copies
    inner = "spec_observe"
    copies.definitions[inner] = source.replace(f"def {name}(", f"def {inner}(", 1)
    names = tuple(item.name for item in layout(spec.observation))
    copies.definitions["observe"] = _FLATTENED.format(inner=inner, names=names)
    return copies


def _is_flat(source: str) -> bool:
    """Tell whether every ``return`` is a concatenation, so that nothing is left to flatten."""
    returns = [n.value for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Return)]
    return all(
        isinstance(value, ast.Call)
        and ast.unparse(value.func) in ("np.concatenate", "np.hstack", "np.append")
        for value in returns
    )


def strategy_of(source: str) -> str:
    """Return what a policy's source says of its strategy: its class's docstring, or the module's.

    A paragraph is one line, as long as it may be, unless it is a list or is indented.
    """
    tree = parsed(source)
    classes = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Policy")
    nodes: list[ast.ClassDef | ast.Module] = [*classes, tree]
    for node in nodes:
        if words := docstring(node).strip():
            paragraphs = re.split(r"\n\s*\n", words)
            written = re.compile(r"^(\s|[-*+] |\d+[.)] )", re.MULTILINE)
            return "\n\n".join(
                p if written.search(p) else " ".join(map(str.strip, p.splitlines()))
                for p in paragraphs
            )
    return ""


def template(name: str) -> Template:
    """Return a template of the files that are written for people."""
    return Template(files("promptpo.export").joinpath("templates", name).read_text("utf-8"))
