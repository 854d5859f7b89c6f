"""What can be scored: policies in files, the best policies of runs, behaviours of the task."""

from __future__ import annotations

import ast
import linecache
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any

from promptpo.common import text
from promptpo.errors import RunError, UsageError
from promptpo.export.policy_file import PolicyFile
from promptpo.rollout.jobs import Baseline
from promptpo.store.folder import RunFolder

#: Behaviours that a task has without any policy, by the names that users give them.
BASELINES: Mapping[str, Baseline] = {
    "expert": "expert",
    "random": "random",
    "zero": "zero action",
}


@dataclass(frozen=True)
class Player:
    """A policy to be scored, or a behaviour of the task (``baseline``; then there is no ``file``).

    ``settings`` are those of the ``run`` whose best policy it is; empty where it is of no run.
    """

    label: str
    file: PolicyFile | None = None
    baseline: Baseline | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    run: Path | None = None


def player_of_source(source: str, label: str) -> Player:
    """A policy that is given as text."""
    return Player(label, PolicyFile(Path(label), source))


def player_of_class(policy: type) -> Player:
    """A policy that is given as a class, from a module or a notebook's cell: its source alone.

    Raises UsageError where the source cannot be read, or the class has another name than Policy.
    """
    name = policy.__name__
    if name != "Policy":
        raise UsageError(f"{name}: a policy's class is called Policy; give it that name")
    # inspect.getsource does not find classes of a notebook's cell; their functions know the place.
    for code in (f.__code__ for f in vars(policy).values() if isinstance(f, FunctionType)):
        lines = linecache.getlines(code.co_filename)
        for node in ast.walk(ast.parse("".join(lines))):
            if isinstance(node, ast.ClassDef) and node.name == name:
                text = lines[node.lineno - 1 : node.end_lineno]
                if node.lineno <= code.co_firstlineno < node.lineno + len(text):
                    return player_of_source(textwrap.dedent("".join(text)), name)
    raise UsageError(f"{name}: its source cannot be read; give its text, or its file's name")


def find_player(name: str, find_run: Callable[[str], Path]) -> Player:
    """What a word means: ``expert``, ``random``, ``zero``, a policy's file, or a run.

    ``find_run`` returns the folder of a run that a word names. Raises RunError where there is none.
    """
    if name in BASELINES:
        return Player(name, baseline=BASELINES[name])
    path = Path(name)
    if path.is_file():
        return Player(text.near_path(path), PolicyFile.read(path))
    return best_of_run(find_run(name))


def best_of_run(path: Path) -> Player:
    """The best policy of a run, with what the run was set to. Raises RunError without one."""
    from promptpo.run.settings import settings_of

    folder = RunFolder.open(path)
    if not folder.best_policy.is_file():
        raise RunError(f"{folder.path}: no best policy in it yet; resume it, or name a file")
    file = PolicyFile.read(folder.best_policy)
    label = text.near_path(folder.best_policy)
    return Player(label, file, settings=settings_of(folder), run=folder.path)
