"""The exported policy runs without promptpo, and returns what the run measured."""

import ast
import sys
from pathlib import Path
from typing import Any

import pytest
from exported_runs import SOURCES, lines_of
from rollouts import rollout as played

from promptpo.export.inline import NotInlinable, inline, without_annotations
from promptpo.export.policy_module import (
    BestPolicy,
    policy_part,
    split_imports,
    strategy_of,
)
from promptpo.spec import load_spec
from promptpo.types import Candidate, Key, Rollout

CARTPOLE = '''
from __future__ import annotations

import numpy as np


class Policy:
    """Push to the side that the pole is falling to."""

    def act(self, observation: Observation) -> int:
        return int(observation.pole_angle + 0.5 * math.tanh(observation.pole_velocity) > 0)
'''

POLICIES = {**SOURCES, "cartpole": CARTPOLE}


def module_of(spec: str | Path, source: str, rollout: Rollout | None = None) -> str:
    return BestPolicy(load_spec(spec), Candidate(Key(1, 1), source, rollout), rollout, "x").module


@pytest.mark.parametrize("spec", POLICIES)
def test_the_module_needs_numpy_alone_and_the_models_part_is_taken_out_again(
    spec: str, tmp_path: Path
) -> None:
    module = module_of(spec, POLICIES[spec])
    (tmp_path / "policy.py").write_text(module, encoding="utf-8")
    tree = ast.parse(module)
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert imported <= {"numpy", "math", "__future__"}
    assert lines_of(tmp_path / "policy.py", "promptpo", "gymnasium", "mujoco") == []
    part = policy_part(module)
    assert policy_part(POLICIES[spec]) == POLICIES[spec]  # which was not exported
    assert "class Observation" not in part
    assert "def observe" not in part
    ours, theirs = split_imports(part), split_imports(POLICIES[spec])
    assert ours.body == theirs.body
    assert set(theirs.imports) - {"import numpy as np"} <= set(ours.imports)


def test_imports_are_taken_apart() -> None:
    parts = split_imports("from __future__ import annotations; GAIN = 3\nimport math\n")
    assert (parts.imports, parts.body) == (("import math",), "GAIN = 3")
    parts = split_imports("from math import (\n    sin,\n    cos,\n)\n\nX = sin(1)  # kept\n")
    assert (parts.imports, parts.body) == (("from math import sin, cos",), "X = sin(1)  # kept")


LONG = '''
class Policy:
    """Drive the tips to the goal at full speed and hold them there
    with a slow integral
    correction.

    Three phases:
    - approach, with a lead that the predicted error withdraws in time;
    - hold. \\"\\"\\" \\\\
    """

    def act(self, observation):
        return 0
'''


def test_the_header_tells_origin_score_and_the_whole_strategy() -> None:
    def header(module: str) -> str:
        tree = ast.parse(module)  # nothing that a model wrote ends the docstring
        assert [n.name for n in tree.body if isinstance(n, ast.ClassDef)][1:] == ["Policy"]
        return ast.get_docstring(tree) or ""

    rollout = played((4000.0,) * 50, stream="test", lengths=(500,) * 50, successes=(True,) * 50)
    candidate = Candidate(Key(1, 2), LONG, rollout)
    best = BestPolicy(load_spec("cartpole"), candidate, rollout, "20260101-000000")
    words = header(best.module)
    assert "success 1.00, 95% interval 0.93 to 1.00 (50 of 50 episodes)" in words
    assert "candidate r01_c02 of run 20260101-000000" in words
    assert words.partition("\nHeld-out")[0].splitlines()[2:] == [
        "Strategy: Drive the tips to the goal at full speed and hold them there with a slow"
        " integral",
        "correction.",
        "",
        "Three phases:",
        "- approach, with a lead that the predicted error withdraws in time;",
        "- hold. ''' /",
    ]
    words = header(module_of("cartpole", CARTPOLE, played((10.0, 30.0), lengths=(10, 30))))
    assert "Search episodes (it was chosen by these: optimistic): mean return 20" in words
    assert "Strategy: Push to the side that the pole is falling to." in words
    assert strategy_of(SOURCES["mujoco_halfcheetah"]).startswith("Joints swing")
    assert strategy_of("class Policy:\n    pass\n") == ""


def test_annotations_are_left_out_and_nothing_else() -> None:
    text = (
        'def f(a: int, b: "x:y" = 3, *c: dict[str, int], é: object = "->") -> dict[str, int]:\n'
        "    z: list[int] = [a, b]  # é: kept\n"
        "    return {a: z[0:1]}\n"
    )
    assert without_annotations(text) == (
        'def f(a, b = 3, *c, é = "->"):\n    z = [a, b]  # é: kept\n    return {a: z[0:1]}\n'
    )


SPEC_WITH_HELPERS = '''
"""A task whose observe needs helpers, a constant and another package."""
import math as m
import numpy as np
import helper_of_this_test as helper
from promptpo.spec import EnvSpec, field

SCALE = (2.0, 3)


class Observation:
    x: float = field(doc="x")
    y: np.ndarray = field(shape=(2,), doc="y")


def scaled(value: float) -> float:
    return m.sqrt(value) * SCALE[0]


def observe(raw, env) -> dict:
    return {"x": scaled(raw[0]), "y": helper.pair(raw[1])}


def reward(observation, action, next_observation):
    return 0.0


def make():
    import gymnasium
    return gymnasium.make("CartPole-v1")


def closure():
    k = 3
    return lambda: k


def uses_array():
    return ARRAY


ARRAY = np.zeros(3)
CLOSURE = closure()
SPEC = EnvSpec(make=make, observation=Observation, action="an int", reward=reward, horizon=5,
               observe=observe)
'''


def test_helpers_constants_and_imports_come_along_or_are_refused(tmp_path: Path) -> None:
    (tmp_path / "helper_of_this_test.py").write_text(
        "def pair(value: float) -> list:\n    return [value, twice(value)]\n\n\n"
        "def twice(value):\n    return 2 * value\n"
    )
    own_spec = tmp_path / "own_task.py"
    own_spec.write_text(SPEC_WITH_HELPERS)
    module = module_of(
        own_spec, "class Policy:\n    def act(self, o):\n        return int(o.y[1])\n"
    )
    space: dict[str, Any] = {}
    exec(compile(module, "policy.py", "exec"), space)  # noqa: S102 - the module under test
    observation = space["Observation"](space["observe"]((4.0, 5.0), None))
    assert (observation.x, observation.y.tolist()) == (4.0, [5.0, 10.0])
    assert space["Policy"]().act(observation) == 10
    names = sys.modules[load_spec(own_spec).make.__module__]
    for refused in (names.CLOSURE, names.uses_array):
        with pytest.raises(NotInlinable):
            inline(refused)


def test_a_policy_that_nests_too_deeply_to_be_read_is_exported_as_it_was_played():
    source = f"class Policy:\n    def act(self, obs):\n        return {'1+' * 20_000}1\n"
    module = module_of("cartpole", source)
    assert module.partition("\n")[2] == source
