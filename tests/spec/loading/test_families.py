"""``family:member`` references: found, named, loaded again, and answered when they are wrong."""

import os
import re
import subprocess
import sys

import pytest
from own_cartpole import own_cartpole
from scripted import policy, replies

from promptpo import optimize
from promptpo.errors import SpecError
from promptpo.spec import load_spec, prompt_parts, shipped_specs, spec_text
from promptpo.spec.catalog import SHIPPED_FOLDER, families, family, name_of

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
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(packages=packages), *argv],
        check=False,
        env={**os.environ, "PYTHONPATH": str(SHIPPED_FOLDER.parent)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stderr


def failure(ref):
    with pytest.raises(SpecError) as caught:
        load_spec(ref)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_member_is_named_without_signs_that_a_folder_cannot_have():
    spec = load_spec("metaworld:push-v3")
    assert (spec.name, spec.ref, spec.path) == ("metaworld_push-v3", "metaworld:push-v3", None)
    assert name_of("gym:ALE/Pong-v5") == "gym_ALE_Pong-v5"


def test_a_spec_is_found_again_by_its_ref(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(own_cartpole())
    monkeypatch.chdir(tmp_path)
    assert load_spec("cartpole").ref == "cartpole"
    assert load_spec("mine.py").ref == str(tmp_path / "mine.py")
    again = load_spec(load_spec("gym:Pendulum-v1").ref)
    assert again.title == load_spec("gym:Pendulum-v1").title


def test_a_file_with_a_colon_in_its_name_is_a_file(tmp_path, monkeypatch):
    (tmp_path / "gym:mine.py").write_text(own_cartpole())
    monkeypatch.chdir(tmp_path)
    assert load_spec("gym:mine.py").title.startswith("CartPole: keep")


def test_families_are_no_shipped_specs():
    assert {family.name for family in families()} >= {"gym", "metaworld", "minigrid"}
    assert not [name for name in shipped_specs() if name.startswith("family")]


@pytest.mark.parametrize("family", families(), ids=lambda family: family.name)
def test_the_example_of_a_family_is_one_of_its_members(family):
    name, _, member = family.example.partition(":")
    assert name == family.name
    assert member in family.members()


def test_a_task_with_a_file_of_its_own_is_that_file():
    assert load_spec("metaworld:reach-v3").name == "metaworld_reach"
    assert load_spec("metaworld:reach-v3").path == SHIPPED_FOLDER / "metaworld_reach.py"


@pytest.mark.parametrize(
    ("ref", "answer"),
    [
        ("metaworld:pusch-v3", "did you mean metaworld:push-v3"),
        ("metaworld:", "an example is metaworld:push-v3 (50 members"),
        ("metawrld:push-v3", "no such family of specs; did you mean metaworld:push-v3?"),
        ("zzzz:push-v3", "no such family of specs; families: "),
        ("gym:CartPol-v1", "did you mean gym:CartPole-v1"),
        ("no_such_spec", "`promptpo list` shows those with names"),
    ],
)
def test_what_does_not_exist_is_answered_with_the_nearest(ref, answer):
    assert answer in failure(ref)


@pytest.mark.slow
def test_all_of_metaworlds_tasks_load_without_a_simulator():
    code = (
        "import sys\n"
        "from promptpo.spec import load_spec, prompt_parts\n"
        "from promptpo.spec.catalog import family\n"
        "for member in family('metaworld').members():\n"
        "    prompt_parts(load_spec(f'metaworld:{member}'))\n"
        "print([m for m in ('gymnasium', 'mujoco', 'metaworld') if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={**os.environ, "PYTHONPATH": str(SHIPPED_FOLDER.parent)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "[]"


def test_the_prompt_of_a_member_holds_what_the_model_needs_and_nothing_of_the_family():
    parts = prompt_parts(load_spec("metaworld:stick-pull-v3"))
    assert "stick_tip_position: np.ndarray = field(" in parts.observation
    assert "``grip`` is the environment's own measure" in parts.reward
    assert "def tolerance(" in parts.reward
    for word in ("family", "env.", "$", "object_position", "second_position"):
        assert word not in parts.text


@pytest.mark.slow
def test_every_task_of_metaworld_states_measured_references():
    metaworld = family("metaworld")
    for member in metaworld.members():
        scores = load_spec(f"metaworld:{member}").reference_scores
        assert {"random", "zero action", "expert"} <= set(scores), member
        assert scores["expert"].mean_return > scores["random"].mean_return, member


def test_the_text_of_a_spec_is_what_was_loaded():
    spec = load_spec("metaworld:push-v3")
    assert 'family.make_env("push-v3")' in spec_text(spec)
    assert spec_text(load_spec("cartpole")) == (SHIPPED_FOLDER / "cartpole.py").read_text()


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
    observation_space = spaces.Dict(
        {{name: spaces.Discrete(3) for name in {names!r}}}
    )


print(spec_source(Odd(), "Odd-v0", draft=False))
"""


def test_field_names_do_not_depend_on_the_process():
    names = ("θ", "1st", "class", "a-b", "a_b", "a_b_2", "value_2")
    texts = [
        subprocess.run(
            [sys.executable, "-c", ODD_KEYS.format(names=names)],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(SHIPPED_FOLDER.parent)},
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1]
    fields = re.findall(r"^    (\w+): int", texts[0], re.MULTILINE)
    assert len(set(fields)) == len(names)
    assert {"a_b", "a_b_2", "value_2"} < set(fields)
