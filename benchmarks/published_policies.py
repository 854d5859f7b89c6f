"""A policy that was published with the paper, as a file that ``promptpo tune`` and ``eval`` take.

The released policies (`representitive_policies/` of the paper's repository) read other observations
than the specs here have: ``obs.obs_vector``, ``obs.qpos``. What comes out is the class as it was
published, without its import lines, behind a ``Policy`` that fills those from the spec's fields.

python benchmarks/published_policies.py PUBLISHED.py mujoco_ant > policy.py
promptpo tune policy.py mujoco_ant --set constants=auto --steps 200000 --test-episodes 100
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

_BODY = """\
np.concatenate([[obs.height, obs.pitch], obs.joint_angles,
                [obs.x_velocity, obs.z_velocity, obs.pitch_velocity], obs.joint_velocities])"""

#: What the published observation holds, from the fields of the spec of each task; the step's length
#: as a fraction, which is no constant to tune.
SEEN = {
    "mujoco_ant": {
        "dt": "1 / 20",
        "obs_vector": """\
np.concatenate([obs.torso_position[2:], obs.torso_orientation, obs.joint_angles,
                obs.torso_velocity, obs.torso_angular_velocity, obs.joint_velocities,
                np.ravel(obs.contact_forces)])""",
    },
    "mujoco_halfcheetah": {"dt": "1 / 20", "obs_vector": _BODY},
    "mujoco_hopper": {"dt": "1 / 125", "obs_vector": _BODY},
    "mujoco_inverted_double_pendulum": {
        "qpos": """\
np.concatenate([[obs.cart_position], np.arctan2(obs.sin_angles, obs.cos_angles)])""",
        "qvel": "np.concatenate([[obs.cart_velocity], obs.pole_velocities])",
        "tip_site_pos": "np.array([obs.tip_x, 0.0, obs.tip_height])",
    },
}


def adapted(source: str, task: str) -> str:
    """The published source behind a ``Policy`` for a spec's observations.

    Raises ValueError where it does not define exactly one class.
    """
    tree = ast.parse(source)
    names = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    if len(names) != 1:
        raise ValueError(f"one class is expected, not {names}")
    lines, seen = source.splitlines(), "Seen"
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            if isinstance(node, ast.ImportFrom) and str(node.module).endswith("observations"):
                seen = node.names[0].name
            assert node.end_lineno is not None  # noqa: S101 - ast.parse gives it
            for line in range(node.lineno - 1, node.end_lineno):
                lines[line] = ""
        if isinstance(node, ast.arg) and node.annotation is not None:  # names of what was imported
            line, at, to = node.lineno - 1, node.col_offset, node.annotation.end_col_offset
            lines[line] = lines[line][:at] + node.arg + lines[line][to:]
    filled = "".join(f"        self.{name} = {value}\n" for name, value in SEEN[task].items())
    return (
        "import numpy as np\n" + "\n".join(lines).lstrip("\n") + "\n\n\n"
        f"class {seen}:\n    def __init__(self, obs):\n{filled}\n\n"
        f"class Policy:\n    def __init__(self):\n        self.published = {names[0]}()\n\n"
        f"    def act(self, obs):\n        return self.published.act({seen}(obs))\n"
    )


def main() -> None:
    """Print the adapted policy."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("policy", type=Path)
    parser.add_argument("task", choices=SEEN)
    options = parser.parse_args()
    sys.stdout.write(adapted(options.policy.read_text(), options.task))


if __name__ == "__main__":
    main()
