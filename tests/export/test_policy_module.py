"""The exported policy runs without promptpo, and returns what the run measured."""

import ast
import asyncio
import contextlib
import sys
from pathlib import Path

import pytest
from exported_runs import REFUSED, SOURCES, lines_of
from rollouts import rollout as played

from promptpo.export.folder import bundle_files
from promptpo.export.inline import NotInlinable, inline, without_annotations
from promptpo.export.policy_module import (
    BestPolicy,
    policy_part,
    split_imports,
    strategy_of,
)
from promptpo.rollout import LocalExecutor, Settings, evaluate
from promptpo.spec import load_spec
from promptpo.spec.bundle import bundle_of
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


def measured(spec: str, source: str, seeds: tuple[int, ...]) -> Rollout:
    async def play() -> Rollout:
        with contextlib.closing(LocalExecutor(Settings(spec), workers=1)) as executor:
            rollout, _ = await evaluate(executor, source, "test", seeds)
        return rollout

    return asyncio.run(play())


def exported(spec: str, source: str, rollout: Rollout | None, folder: Path) -> Path:
    candidate = Candidate(Key(1, 2), source, rollout)
    best = BestPolicy(load_spec(spec), candidate, rollout, "20260101-000000")
    for name, content in best.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def readme_loop(folder: Path) -> Path:
    text = (folder / "README.md").read_text(encoding="utf-8")
    script = folder / "best" / "loop.py"
    script.write_text(text.split("```python\n")[1].split("```")[0], encoding="utf-8")
    return script


def expected(rollout: Rollout) -> list[str]:
    pairs = zip(rollout.seeds, rollout.returns, strict=True)
    return [f"seed {s}: return {value:.6g}, measured {value:.6g}" for s, value in pairs]


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["cartpole", "mujoco_halfcheetah", "metaworld_reach"])
def test_the_readme_loop_returns_what_the_run_measured(spec: str, tmp_path: Path) -> None:
    rollout = measured(spec, POLICIES[spec], (5, 11))
    script = readme_loop(exported(spec, POLICIES[spec], rollout, tmp_path))
    assert lines_of(script, *REFUSED) == expected(rollout)


def test_an_environment_of_the_spec_itself_is_opened_through_promptpo(tmp_path: Path) -> None:
    spec = "noise_world_board_1"
    rollout = measured(spec, POLICIES[spec], (5, 11))
    folder = exported(spec, POLICIES[spec], rollout, tmp_path)
    for name, content in bundle_files(bundle_of(spec)).items():
        (folder / "spec" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "spec" / name).write_bytes(content)
    assert lines_of(readme_loop(folder)) == expected(rollout)


@pytest.mark.parametrize("spec", POLICIES)
def test_the_module_needs_numpy_alone(spec: str, tmp_path: Path) -> None:
    folder = exported(spec, POLICIES[spec], None, tmp_path)
    tree = ast.parse((folder / "best" / "policy.py").read_text(encoding="utf-8"))
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert imported <= {"numpy", "math", "__future__"}
    refused = ("promptpo", "gymnasium", "metaworld", "mujoco")
    assert lines_of(folder / "best" / "policy.py", *refused) == []


def test_the_header_says_where_it_comes_from_and_what_it_scored(tmp_path: Path) -> None:
    rollout = played((4000.0,) * 50, stream="test", lengths=(500,) * 50, successes=(True,) * 50)
    folder = exported("metaworld_reach", SOURCES["metaworld_reach"], rollout, tmp_path)
    header = ast.get_docstring(ast.parse((folder / "best" / "policy.py").read_text())) or ""
    assert "Policy for metaworld_reach" in header
    assert "Strategy: Moves the finger tips straight to the goal." in header
    assert "success 1.00, 95% interval 0.93 to 1.00 (50 of 50 episodes)" in header
    assert "candidate r01_c02 of run 20260101-000000" in header


def module_of(spec: str | Path, source: str, rollout: Rollout | None = None) -> str:
    return BestPolicy(load_spec(spec), Candidate(Key(1, 1), source, rollout), None, "x").module


def test_before_the_held_out_episodes_the_score_is_called_optimistic() -> None:
    module = module_of("cartpole", CARTPOLE, played((10.0, 30.0), lengths=(10, 30)))
    assert "Search episodes (it was chosen by these: optimistic): mean return 20" in module


def test_imports_are_taken_apart() -> None:
    parts = split_imports("from __future__ import annotations; GAIN = 3\nimport math\n")
    assert (parts.imports, parts.body) == (("import math",), "GAIN = 3")
    parts = split_imports("from math import (\n    sin,\n    cos,\n)\n\nX = sin(1)  # kept\n")
    assert (parts.imports, parts.body) == (("from math import sin, cos",), "X = sin(1)  # kept")


def test_nothing_that_a_model_wrote_can_end_the_docstring() -> None:
    source = (
        "class Policy:\n    '''Push \"\"\" hard\\\\'''\n    def act(self, o):\n        return 0\n"
    )
    module = module_of("cartpole", source)
    names = [n.name for n in ast.parse(module).body if isinstance(n, ast.ClassDef)]
    assert names == ["Observation", "Policy"]


@pytest.mark.parametrize("spec", POLICIES)
def test_the_models_part_can_be_taken_out_again(spec: str) -> None:
    module = module_of(spec, POLICIES[spec])
    part = policy_part(module)
    assert policy_part(POLICIES[spec]) == POLICIES[spec]  # which was not exported
    assert "class Observation" not in part
    assert "def observe" not in part
    ours, theirs = split_imports(part), split_imports(POLICIES[spec])
    assert ours.body == theirs.body
    assert set(theirs.imports) - {"import numpy as np"} <= set(ours.imports)


def test_the_strategy_is_what_the_policy_says_of_itself() -> None:
    assert strategy_of(CARTPOLE) == "Push to the side that the pole is falling to."
    assert strategy_of(SOURCES["mujoco_halfcheetah"]).startswith("Joints swing")
    assert strategy_of("class Policy:\n    pass\n") == ""


LONG = '''
class Policy:
    """Drive the tips to the goal at full speed and hold them there
    with a slow integral
    correction.

    Three phases:
    - approach, with a lead that the predicted error withdraws in time;
    - hold.
    """

    def act(self, observation):
        return 0
'''


def test_the_module_names_the_whole_strategy_not_its_first_line() -> None:
    module = module_of("cartpole", LONG)
    about = (ast.get_docstring(ast.parse(module)) or "").partition("No episode was played")[0]
    assert about.splitlines()[2:] == [
        "Strategy: Drive the tips to the goal at full speed and hold them there with a slow"
        " integral",
        "correction.",
        "",
        "Three phases:",
        "- approach, with a lead that the predicted error withdraws in time;",
        "- hold.",
        "",
    ]


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


@pytest.fixture
def own_spec(tmp_path: Path) -> Path:
    (tmp_path / "helper_of_this_test.py").write_text(
        "def pair(value: float) -> list:\n    return [value, twice(value)]\n\n\n"
        "def twice(value):\n    return 2 * value\n"
    )
    path = tmp_path / "own_task.py"
    path.write_text(SPEC_WITH_HELPERS)
    return path


def test_helpers_constants_and_imports_come_along(own_spec: Path) -> None:
    source = "class Policy:\n    def act(self, o):\n        return int(o.y[1])\n"
    module = module_of(own_spec, source)
    space: dict[str, object] = {}
    exec(compile(module, "policy.py", "exec"), space)  # noqa: S102 - the module under test
    observation = space["Observation"](space["observe"]((4.0, 5.0), None))  # type: ignore[operator]
    assert (observation.x, observation.y.tolist()) == (4.0, [5.0, 10.0])
    assert space["Policy"]().act(observation) == 10  # type: ignore[operator]


def test_what_cannot_be_copied_is_refused(own_spec: Path) -> None:
    module = sys.modules[load_spec(own_spec).make.__module__]
    for name in ("CLOSURE", "uses_array"):
        with pytest.raises(NotInlinable):
            inline(getattr(module, name))


def test_a_policy_that_nests_too_deeply_to_be_read_is_exported_as_it_was_played():
    source = f"class Policy:\n    def act(self, obs):\n        return {'1+' * 20_000}1\n"
    module = module_of("cartpole", source)
    assert module.partition("\n")[2] == source
