"""``family:member`` references: found, named, loaded again, and answered when they are wrong."""

import re

import pytest
from own_cartpole import own_cartpole
from processes import python
from scripted import policy, replies

from promptpo import optimize
from promptpo.spec import load_spec, prompt_parts, shipped_specs
from promptpo.spec.catalog import SHIPPED_FOLDER, families, name_of

#: Runs the command line where some packages cannot be imported.
WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
from promptpo.cli import main
sys.exit(main(sys.argv[1:]))
"""


def without(packages, *argv):
    done = python("-c", WITHOUT.format(packages=packages), *argv)
    return done.returncode, done.stderr


def test_a_member_is_named_without_signs_that_a_folder_cannot_have():
    spec = load_spec("metaworld:push-v3")
    assert (spec.name, spec.ref, spec.path) == ("metaworld_push-v3", "metaworld:push-v3", None)
    assert name_of("gym:ALE/Pong-v5") == "gym_ALE_Pong-v5"


def test_a_spec_is_found_again_by_its_ref_and_a_file_may_have_a_colon(tmp_path, monkeypatch):
    for name in ("mine.py", "gym:mine.py"):
        (tmp_path / name).write_text(own_cartpole())
    monkeypatch.chdir(tmp_path)
    assert load_spec("cartpole").ref == "cartpole"
    assert load_spec("mine.py").ref == str(tmp_path / "mine.py")
    assert load_spec("gym:mine.py").title.startswith("CartPole: keep")
    again = load_spec(load_spec("gym:Pendulum-v1").ref)
    assert again.title == load_spec("gym:Pendulum-v1").title


def test_families_and_their_examples():
    assert {family.name for family in families()} >= {"gym", "metaworld", "minigrid"}
    assert not [name for name in shipped_specs() if name.startswith("family")]
    for each in families():
        name, _, member = each.example.partition(":")
        assert name == each.name
        assert member in each.members()
    assert load_spec("metaworld:reach-v3").name == "metaworld_reach"
    assert load_spec("metaworld:reach-v3").path == SHIPPED_FOLDER / "metaworld_reach.py"


def test_a_reference_to_nothing_is_answered_with_the_nearest(failure):
    for ref, answer in {
        "metaworld:pusch-v3": "did you mean metaworld:push-v3",
        "metaworld:": "an example is metaworld:push-v3 (50 members",
        "metawrld:push-v3": "no such family of specs; did you mean metaworld:push-v3?",
        "zzzz:push-v3": "no such family of specs; families: ",
        "gym:CartPol-v1": "did you mean gym:CartPole-v1",
        "no_such_spec": "`promptpo list` shows those with names",
    }.items():
        assert answer in failure(ref)


@pytest.mark.slow
def test_all_of_metaworlds_tasks_load_without_a_simulator_and_state_references(new_process):
    code = """
import sys
from promptpo.spec import load_spec, prompt_parts
from promptpo.spec.catalog import family
for member in family('metaworld').members():
    spec = load_spec(f'metaworld:{member}')
    prompt_parts(spec)
    scores = spec.reference_scores
    assert {"random", "zero action", "expert"} <= set(scores), member
    assert scores["expert"].mean_return > scores["random"].mean_return, member
print([m for m in ('gymnasium', 'mujoco', 'metaworld') if m in sys.modules])
"""
    assert new_process(code) == "[]\n"


def test_the_prompt_of_a_member_holds_what_the_model_needs_and_nothing_of_the_family():
    parts = prompt_parts(load_spec("metaworld:stick-pull-v3"))
    assert "stick_tip_position: np.ndarray = field(" in parts.observation
    assert "``grip`` is the environment's own measure" in parts.reward
    assert "def tolerance(" in parts.reward
    for word in ("family", "env.", "$", "object_position", "second_position"):
        assert word not in parts.text


def test_a_missing_package_is_named_with_the_extra_that_brings_it():
    for packages, argv, extra in (
        (("minigrid",), ("prompt", "minigrid:MiniGrid-Empty-5x5-v0"), "promptpo[minigrid]"),
        (("Box2D",), ("prompt", "gym:LunarLander-v3"), "promptpo[box2d]"),
        (("minigrid",), ("prompt", "gym:minigrid:MiniGrid-Empty-5x5-v0"), "promptpo[minigrid]"),
    ):
        code, message = without(packages, *argv)
        assert code == 3
        assert message.endswith(f"is not installed; run: pip install '{extra}'\n")
        assert message.count("\n") == 1


@pytest.mark.slow
def test_a_run_of_a_member_goes_all_the_way_and_is_resumed(tmp_path):
    lean = policy("return int(obs.pole_angle + obs.pole_angular_velocity > 0)")
    feedback = "class Feedback:\n    def summarize_trajectory(self, traj):\n        return 'x'\n"
    model = replies([lean], feedback=feedback).write(tmp_path / "replies.jsonl")
    settings = {"episodes": 2, "test_episodes": 2, "workers": 1, "rounds": 1, "candidates": 1}
    result = optimize("gym:CartPole-v1", model=model, out=str(tmp_path / "runs"), **settings)
    assert result.folder.parent.name == "gym_CartPole-v1"
    assert min(result.test.returns) > 100
    assert "Gymnasium loop" not in (result.folder / "README.md").read_text()
    assert "promptpo" not in (result.folder / "README.md").read_text().split("```python")[1]
    again = optimize(resume=result.folder)
    assert again.test.returns == result.test.returns


ODD_KEYS = """
import gymnasium
from gymnasium import spaces
from promptpo.spec.drafts import spec_source

class Odd(gymnasium.Env):
    action_space = spaces.Discrete(2)
    observation_space = spaces.Dict({{name: spaces.Discrete(3) for name in {names!r}}})

print(spec_source(Odd(), "Odd-v0", draft=False))
"""


def test_field_names_do_not_depend_on_the_process(new_process):
    names = ("θ", "1st", "class", "a-b", "a_b", "a_b_2", "value_2")
    code = ODD_KEYS.format(names=names)
    first, second = (new_process(code, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first == second
    fields = re.findall(r"^    (\w+): int", first, re.MULTILINE)
    assert len(set(fields)) == len(names)
    assert {"a_b", "a_b_2", "value_2"} < set(fields)
