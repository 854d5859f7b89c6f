"""Which lines of a spec, and of an environment beside it, lose the seed of an episode.

Read from the text: what is found may be harmless, so it is told only where seeds fail.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from promptpo.common.files import read_source
from promptpo.spec import EnvSpec, Task
from promptpo.spec.running.interface import layers

#: So many lines are told.
_MOST = 5

_OWN = "draw from self.np_random, which super().reset(seed=seed) seeds"

#: Of ``numpy.random`` and ``random``: what makes a generator; the rest draws from a global one.
_MAKERS = {"default_rng", "RandomState", "Random", "SystemRandom", "Generator", "SeedSequence"}

#: What differs from process to process, or from time to time.
_OUTSIDE = {
    "time.time": "reads the clock",
    "time.time_ns": "reads the clock",
    "datetime.datetime.now": "reads the clock",
    "os.urandom": "draws from the system",
    "uuid.uuid4": "draws from the system",
    "hash": "differs from process to process where it hashes a text",
}


def lines_that_lose_seeds(task: Task) -> tuple[str, ...]:
    """``FILE:LINE: `code` is wrong; remedy`` for each, at most five.

    Where the environment is not of the spec's folder, what the spec can do instead.
    """
    files = list(_own_files(task))
    found = [line for file in files for line in _read(file, task.spec)]
    kind = type(list(layers(task.env))[-1])
    outside = str(_file_of(kind)) not in map(str, files)
    if not found and outside and task.spec.reset is None:
        found = [
            f"{kind.__name__} comes from {kind.__module__}: give EnvSpec a reset(env, seed) that"
            " sets its generator, and returns the observation of its own reset"
        ]
    return tuple(found[:_MOST])


def _own_files(task: Task) -> Iterator[Path]:
    """The spec's file, and those in its folder that define the environment."""
    if task.spec.path is None:
        return
    yield task.spec.path
    kinds = [kind for layer in layers(task.env) for kind in type(layer).__mro__]
    for file in dict.fromkeys(map(_file_of, kinds)):
        if file is None or file == task.spec.path or "site-packages" in file.parts:
            continue
        if file.is_relative_to(task.spec.path.parent):
            yield file


def _file_of(kind: type) -> Path | None:
    name = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return Path(name) if name else None


def _read(file: Path, spec: EnvSpec) -> Iterator[str]:
    try:
        tree = ast.parse(read_source(file))
    except (OSError, ValueError):  # changed since it was imported
        return
    reader = _Reader(
        tree, getattr(spec.expert, "__name__", ""), getattr(spec.reset, "__name__", "")
    )
    for line, words in sorted(reader.found.items()):
        yield f"{file}:{line}: {words}"


class _Reader(ast.NodeVisitor):
    """Collects by line what loses a seed; the expert may do what it likes."""

    def __init__(self, tree: ast.Module, expert: str, own_reset: str) -> None:
        self.found: dict[int, str] = {}
        self._names: dict[str, str] = {}
        self._skipped, self._own_reset = expert, own_reset
        self.visit(tree)

    def visit_Import(self, node: ast.Import) -> None:
        for item in node.names:
            name = item.asname or item.name.partition(".")[0]
            self._names[name] = item.name if item.asname else name

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for item in node.names:
            self._names[item.asname or item.name] = f"{node.module}.{item.name}"

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name == self._skipped:
            return
        arguments = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
        if node.name == self._own_reset and len(arguments) == 2 and arguments[0] != "self":
            self._check_reset(node, arguments[1], "end it with: return env.reset(seed=seed)[0]")
        elif node.name == "reset" and "seed" in arguments:
            self._check_reset(node, "seed", "begin it with super().reset(seed=seed)")
        self.generic_visit(node)

    def _check_reset(self, node: ast.FunctionDef, seed: str, remedy: str) -> None:
        inside = [inner for statement in node.body for inner in ast.walk(statement)]
        calls = [n for n in inside if isinstance(n, ast.Call) and _attribute(n) == "reset"]
        for call in calls:
            passed = [k.value for k in call.keywords if k.arg == "seed"] + call.args
            if any(k.arg is None for k in call.keywords) or any(_names(a, seed) for a in passed):
                continue
            wrong = "gives every episode the same seed" if passed else "does not pass the seed on"
            right = f"{ast.unparse(call.func)}(seed={seed})"
            self._note(call, f"{wrong}; write {right}")
        used = any(_names(inner, seed) for inner in inside)
        drawn = any(isinstance(n, ast.Attribute) and n.attr == "np_random" for n in inside)
        if not calls and not used:
            self.found[node.lineno] = f"{node.name} does not use its seed; {remedy}"
        elif not calls and drawn:
            self.found[node.lineno] = f"{node.name} does not seed self.np_random; {remedy}"

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        methods = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
        if {"reset", "step"} <= methods.keys():
            always = _set_by(methods, "reset")
            for name, line in _set_by(methods, "step").items():
                if name not in always:
                    self.found[line] = f"step changes self.{name}; let reset set it"
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = self._full_name(node.func)
        module, _, last = name.rpartition(".")
        fixed = [*node.args, *(keyword.value for keyword in node.keywords)]
        constant = bool(fixed) and all(isinstance(a, ast.Constant) for a in fixed)
        if name in _OUTSIDE:
            self._note(node, f"{_OUTSIDE[name]}; let the seed decide")
        elif module in ("numpy.random", "random"):
            if last in _MAKERS and not fixed:
                self._note(node, f"is a generator without a seed; {_OWN}")
            elif last in (*_MAKERS, "seed") and constant:
                self._note(node, f"has the same seed for every episode; {_OWN}")
            elif last == "seed":
                self._note(node, f"seeds what all environments of a process share; {_OWN}")
            elif last not in _MAKERS:
                self._note(node, f"draws from a generator that reset does not seed; {_OWN}")
        self.generic_visit(node)

    def _full_name(self, node: ast.expr) -> str:
        """A dotted name with the module's true one: ``np.random.rand`` is ``numpy.random.rand``."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        known = self._names.get(node.id, node.id if not parts else "")
        return ".".join([known, *parts]) if known else ""

    def _note(self, call: ast.Call, words: str) -> None:
        text = " ".join(ast.unparse(call).split())
        text = text if len(text) <= 50 else f"{text[:47]}..."
        self.found[call.lineno] = f"`{text}` {words}"


def _set_by(methods: Mapping[str, ast.FunctionDef], name: str) -> dict[str, int]:
    """Attributes of ``self`` that a method sets, it or one that it calls, by name: their lines."""
    found: dict[str, int] = {}
    waiting, seen = [name], set()
    while waiting:
        method = methods.get(waiting.pop())
        if method is None or method.name in seen:
            continue
        seen.add(method.name)
        for node in ast.walk(method):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self":
                if isinstance(node.ctx, ast.Store):
                    found.setdefault(node.attr, node.lineno)
                else:
                    waiting.append(node.attr)
    return found


def _attribute(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _names(node: ast.AST, name: str) -> bool:
    """Whether an expression reads a name, itself or in a part."""
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))
