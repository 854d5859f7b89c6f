"""Stable-Baselines3's ``predict`` around an exported policy: as files, and as an object."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from promptpo.export.inline import Inlined, NotInlinable, inline
from promptpo.export.learned import Maker
from promptpo.export.policy_file import PolicyFile
from promptpo.export.readme import loading, shown_episodes, start_inlined
from promptpo.spec import Env, EnvSpec, Raw, layout
from promptpo.types import Rollout

if TYPE_CHECKING:
    from promptpo.export.sb3_wrapper import SB3Policy
    from promptpo.spec import Flat

#: Where the exported folder has the spec, seen from a script in it.
SPEC_BESIDE = 'Path(__file__).with_name("spec")'

_LOAD = Template('''

def load(env: Env) -> SB3Policy:
    """The policy of this folder, for this environment or VecEnv."""
    from policy import $names$observe

    return SB3Policy(env, $policy, Observation, $name, lifetime="$lifetime")
''')

_FROM_SPEC = """
    from pathlib import Path

    from promptpo.export.sb3 import flat_observe
    from promptpo.spec import load_spec

    observe = flat_observe($spec)"""

_EXAMPLE = Template('''\
"""Plays $spec with Stable-Baselines3's evaluate_policy; needs stable-baselines3 too."""

$imports


$definitions


def as_in_the_run():
    """The task as it was in the run."""
    env = $make()
    while type(env).__name__ in ("TimeLimit", "OrderEnforcing", "PassiveEnvChecker"):
        env = env.env
    return Monitor(TimeLimit($wrapped, max_episode_steps=$horizon))


venv = DummyVecEnv([as_in_the_run])
${policy_for_all}for seed, measured in $episodes:
    venv.seed(seed)
    mean, _ = evaluate_policy($policy, venv, n_eval_episodes=1)
    print(f"seed {seed}: return {mean:.6g}, measured {measured:.6g}")
''')

_IMPORTS = (
    "from gymnasium.wrappers import TimeLimit",
    "from stable_baselines3.common.evaluation import evaluate_policy",
    "from stable_baselines3.common.monitor import Monitor",
    "from stable_baselines3.common.vec_env import DummyVecEnv",
)

_SEEDED = '''\
class SeededReset(gymnasium.Wrapper):
    """Starts the episode of a seed as the run did; draws a seed where none is given."""

    def reset(self, *, seed=None, options=None):
        if seed is None:
            seed = int(self.np_random.integers(2**31))
        return {reset}(self.env, seed), {{}}'''


_START = """\
def start(env, seed):
    SPEC.new_life(env, life_seed(seed, {life}))
    return {started}"""


def sb3_policy(policy: Path, spec: EnvSpec, env: Env) -> SB3Policy:
    """``best/policy.py`` of a run (or its exported copy) as a policy for Stable-Baselines3.

    The file is run as it is, without the sandbox: read it first. ``env`` is an environment like
    ``spec.make()``, or a VecEnv of such.
    """
    from promptpo.export.sb3_wrapper import SB3Policy

    names = runpy.run_path(str(policy))
    file = PolicyFile.read(policy)
    maker = Maker.of(file.played, file.learned)
    observe = names.get("observe") or flat_observe(spec)
    return SB3Policy(
        env,
        partial(names["Policy"], names[maker.values]) if maker.values else names["Policy"],
        names["Observation"],
        observe,
        spec.policy_lifetime,
    )


def flat_observe(spec: EnvSpec) -> Callable[[Raw, Env], Flat]:
    """The spec's ``observe``, made to return the fields as one vector."""
    own = spec.observe
    assert own is not None  # noqa: S101 - without one of its own, policy.py has one that fits

    def observe(raw: Raw, env: Env) -> Flat:
        seen = own(raw, env)
        if isinstance(seen, dict):
            parts = [np.ravel(seen[item.name]) for item in layout(spec.observation)]
            seen = np.concatenate(parts)
        return np.ravel(seen).astype(np.float64)

    return observe


def sb3_module(spec: EnvSpec, maker: Maker) -> str:
    """Source of ``sb3_policy.py``: the wrapper, and ``load(env)`` for the policy beside it."""
    wrapper = files("promptpo.export").joinpath("sb3_wrapper.py").read_text("utf-8")
    try:
        if spec.observe is not None:
            inline(spec.observe)  # or policy.py is without it
        observe = ", observe"
    except NotInlinable:
        observe = _FROM_SPEC.replace("$spec", loading(spec, SPEC_BESIDE))
    return wrapper + _LOAD.substitute(
        observe=observe,
        name="observe",
        lifetime=spec.policy_lifetime,
        names=maker.names,
        policy=f"lambda: {maker.call}" if maker.values else "Policy",
    )


def sb3_example(spec: EnvSpec, played: Rollout | None) -> str:
    """Source of ``run_sb3.py``: some of the run's episodes through ``evaluate_policy``."""
    life = played.life if played else spec.life
    try:
        parts = start_inlined(spec)
        make, reset = spec.make.__name__, spec.reset.__name__ if spec.reset else ""
    except NotInlinable:
        parts = Inlined(
            ["from pathlib import Path", "from promptpo.spec import load_spec"],
            {"SPEC": f"SPEC = {loading(spec, SPEC_BESIDE)}"},
        )
        make, reset = "SPEC.make", "SPEC.reset" if spec.reset else ""
        if spec.new_life is not None:
            parts.imports.append("from promptpo.common.lives import life_seed")
            started = f"{reset}(env, seed)" if reset else "env.reset(seed=seed)[0]"
            parts.definitions["start"] = _START.format(life=life, started=started)
            reset = "start"
    imports = [*_IMPORTS, *parts.imports, *(["import gymnasium"] if reset else [])]
    if reset:
        parts.definitions["SeededReset"] = _SEEDED.format(reset=reset)
    return _EXAMPLE.substitute(
        spec=spec.name,
        imports="\n".join([*sorted(set(imports)), "", "from sb3_policy import load"]),
        definitions=parts.text,
        make=make,
        wrapped="SeededReset(env)" if reset else "env",
        horizon=spec.horizon,
        episodes=shown_episodes(played),
        policy_for_all="policy = load(venv)  # one for all of these\n" if life > 1 else "",
        policy="policy" if life > 1 else "load(venv)",
    )
