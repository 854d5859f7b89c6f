"""Live twins of MuJoCo tasks beside what their prompts say."""

import functools
import re
from dataclasses import replace

import numpy as np

from env_specs._twins.ant import ANT
from env_specs._twins.chains import POLES, REACHER, SWIMMER
from env_specs._twins.planar import CHEETAH, HOPPER, WALKER
from promptpo.spec import Task, layout, load_spec, prompt_parts

RECIPES = {
    "hopper": HOPPER,
    "walker2d": WALKER,
    "halfcheetah": CHEETAH,
    "ant": ANT,
    "swimmer": SWIMMER,
    "reacher": REACHER,
    "inverted_double_pendulum": POLES,
}
LEGGED = ["hopper", "walker2d", "halfcheetah", "ant"]
JOINTED = [name for name in RECIPES if name != "inverted_double_pendulum"]
#: The name in the model file of a joint in the words of the texts.
JOINTS = {
    "hopper": {"hip": "thigh_joint", "knee": "leg_joint", "ankle": "foot_joint"},
    "walker2d": {
        "right hip": "thigh_joint",
        "right knee": "leg_joint",
        "right ankle": "foot_joint",
        "left hip": "thigh_left_joint",
        "left knee": "leg_left_joint",
        "left ankle": "foot_left_joint",
    },
    "halfcheetah": {
        f"{end} {part}": f"{end[0]}{part}"
        for end in ("back", "front")
        for part in ("thigh", "shin", "foot")
    },
    "swimmer": {
        "between front and middle link": "motor1_rot",
        "between middle and back link": "motor2_rot",
    },
    "reacher": {"the shoulder": "joint0", "the elbow": "joint1"},
}
#: The file's numbers of the legs that look where the text says.
ANT_LEGS = {"front left": 1, "back left": 2, "back right": 3, "front right": 4}

#: The field of the joints' angles, where it has another name.
ANGLES = {"swimmer": "hinge_angles", "reacher": "sin_angles"}


class Twin:
    """A twin, live, and its prompt as one line."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.recipe = name, RECIPES[name]
        spec = load_spec(f"twin:mujoco_{name}@{seed}")
        original = [item.name for item in layout(load_spec(f"mujoco_{name}").observation)]
        self.view = self.recipe.drawn_view(seed, original)
        self.task = Task.open(spec)
        self.task.reset(0)
        self.env, self.model = self.task.env.unwrapped, self.task.env.unwrapped.model
        parts = prompt_parts(replace(spec, facts=""))
        self.text = " ".join(re.sub(r'"\s*\n\s*"', "", parts.text).split())

    def told(self, pattern: str) -> list[str]:
        """What a pattern finds in the prompt."""
        found = re.search(pattern, self.text)
        assert found, f"{pattern!r} not in {self.text}"
        return list(found.groups())

    def joint(self, words: str):
        return self.model.joint(JOINTS[self.name][words])

    def joints(self) -> list:
        """The model's joints in the order that the prompt says."""
        if self.name == "ant":
            order = dict(ant_pairs(self.told(r"order of the joints is everywhere: (.*?)\. Act")[0]))
            return [self.model.joint(order[index]) for index in range(8)]
        names = "|".join(map(re.escape, JOINTS[self.name]))
        items = re.findall(rf"(\d) (?:is )?({names})(?! link)", self.head())
        assert [int(index) for index, _ in sorted(items)] == list(range(len(items)))
        return [self.joint(words) for _, words in sorted(items)]

    def head(self) -> str:
        return self.text[self.text.index("class Observation") :].split("field(")[0]

    def seen(self, original: str, position: np.ndarray) -> np.ndarray:
        """A field, by the original's name, with the body at a position and at rest."""
        self.env.set_state(position, np.zeros(self.model.nv))
        self.task.env.unwrapped.data.ctrl[:] = 0.0
        flat = self.task.spec.observe(self.env._get_obs(), self.task.env)
        name = self.view.names.get(original, original)
        (item,) = (item for item in layout(self.task.spec.observation) if item.name == name)
        return flat[item.slice]

    def lifted(self) -> np.ndarray:
        """The body off the ground, where it stands on one."""
        position = self.env.init_qpos.copy()
        position[2 if self.name == "ant" else 1] += 1.0 if self.name in LEGGED else 0.0
        return position

    def moved(self, joint, angle: float) -> np.ndarray:
        position = self.env.init_qpos.copy()
        position[joint.qposadr[0]] += angle
        return position


@functools.cache
def opened(name: str, seed: int) -> Twin:
    return Twin(name, seed)


def ant_pairs(text: str):
    """The joints by index, from "0 hip and 1 ankle of the front left leg ..."."""
    for hip, ankle, leg in re.findall(
        r"(\d) hip and (\d) ankle (?:of the )?((?:front|back) (?:left|right))", text
    ):
        yield int(hip), f"hip_{ANT_LEGS[leg]}"
        yield int(ankle), f"ankle_{ANT_LEGS[leg]}"
