"""Twins of Meta-World tasks: what their prompts say of frame, hand and objects is so."""

import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from env_specs._twins.chance import Chance
from env_specs._twins.frame import Frame
from env_specs._twins.recipes import RECIPES
from env_specs._twins.rewriting import text_of
from promptpo.spec import Task, layout, load_spec

pytestmark = [pytest.mark.filterwarnings("ignore:Constant:UserWarning"), pytest.mark.slow]

NAMES = ("metaworld_drawer_open", "metaworld_pick_place", "metaworld_reach", "metaworld_door_open")


@pytest.fixture(scope="module", params=NAMES)
def pair(request):
    """A twin and its original."""
    tasks = (Task.open(load_spec(f"twin:{request.param}")), Task.open(load_spec(request.param)))
    yield tasks
    for task in tasks:
        task.close()


def view_of(name: str, seed: int = 0):
    return RECIPES[name].drawn_view(seed, text_of(name)[0].names)


def field_of(task: Task, flat: np.ndarray, original_name: str) -> np.ndarray:
    """A field of the twin by the name that the original gives it."""
    name = view_of(task.spec.ref.removeprefix("twin:")).names[original_name]
    (item,) = (item for item in layout(task.spec.observation) if item.name == name)
    return flat[item.slice]


def test_frames_are_turned_and_never_mirrored():
    drawn = {Frame().drawn(Chance("any", seed)) for seed in range(30)}
    turns = [np.eye(3)[list(frame.columns)] * np.array(frame.signs)[:, None] for frame in drawn]
    assert len({turn.tobytes() for turn in turns}) == 3
    for turn in turns:
        assert np.linalg.det(turn) == pytest.approx(1.0)
        np.testing.assert_array_equal(turn[2], [0, 0, 1])
    assert all(0.1 <= abs(shift) <= 0.9 for frame in drawn for shift in frame.offsets)


@pytest.mark.parametrize("w", [0, 3])
def test_rotations_turn_with_the_frame(w):
    rotation = Rotation.from_euler("xyz", (0.3, -0.5, 1.1))
    for seed in range(8):
        group = Frame(rotations={"rotation": w}).drawn(Chance("any", seed))
        turn = Rotation.from_matrix(np.eye(3)[list(group.columns)] * np.c_[list(group.signs)])
        moved = Frame(rotations={"rotation": w}).moved("rotation", group)
        seen = rotation.as_quat(scalar_first=w == 0)[list(moved.columns)] * moved.signs
        other = Rotation.from_quat(seen, scalar_first=w == 0)
        assert (other.inv() * turn * rotation * turn.inv()).magnitude() < 1e-9


def test_episodes_start_as_those_of_the_original(pair):
    twin, original = pair
    twin.reset(3)
    original.reset(3)
    # Hand, gripper and object; a puck of another mass lies a little otherwise under its own weight.
    np.testing.assert_allclose(twin.raw[:7], original.raw[:7], atol=1e-9)
    np.testing.assert_allclose(twin.env.tcp_center, original.env.tcp_center, atol=1e-9)


def test_the_hand_starts_where_the_prompt_says(pair):
    twin, _ = pair
    flat = twin.reset(4)
    (said,) = re.findall(r"starts\s+near\s+\(([^)]*)\)", twin.spec.description)
    stated = np.array([float(number) for number in said.split(",")])
    np.testing.assert_allclose(field_of(twin, flat, "hand_position"), stated, atol=0.02)


def test_axes_point_where_the_prompt_says(pair):
    twin, _ = pair
    ways = {"right": (0, 1), "left": (0, -1), "away": (1, 1), "towards": (1, -1)}
    flat = twin.reset(4)
    for _ in range(6):
        before, raw = flat, twin.raw.copy()
        flat = twin.step(np.array([0.7, -0.4, -0.3, 0.0]))[0]
    moved = [field_of(twin, seen, "hand_position") for seen in (before, flat)]
    prose = " ".join(twin.spec.description.split())
    for index, axis in enumerate("xy"):
        (way,) = re.findall(rf"\b{axis} (?:to the robot's )?(right|left|away|towards)\b", prose)
        along, sign = ways[way]
        wanted = sign * (twin.raw[along] - raw[along])
        assert moved[1][index] - moved[0][index] == pytest.approx(wanted)
    (table,) = re.findall(r"table top is at z = (-?[\d.]+)", prose)
    assert moved[1][2] == pytest.approx(twin.raw[2] + float(table))


@pytest.mark.parametrize("axis", range(3))
def test_an_action_moves_the_hand_where_and_as_far_as_the_prompt_says(pair, axis):
    twin, _ = pair
    (unit,) = re.findall(r"in units of ([\d.]+) m", twin.spec.action)
    start = field_of(twin, twin.reset(2), "hand_position")
    commanded = twin.env.data.mocap_pos[0].copy()
    for _ in range(4):
        flat = twin.step(np.eye(4)[axis])[0]
    moved = field_of(twin, flat, "hand_position") - start
    assert np.argmax(np.abs(moved)) == axis
    assert moved[axis] > 0
    asked = np.abs(twin.env.data.mocap_pos[0] - commanded).sum()
    assert asked == pytest.approx(4 * float(unit), abs=1e-6)


def test_the_gripper_closes_by_the_sign_that_the_prompt_says(pair):
    twin, _ = pair
    (word,) = re.findall(r"(positive|negative) closes", twin.spec.action)
    effort = 1.0 if word == "positive" else -1.0
    before = field_of(twin, twin.reset(2), "gripper_opening")
    for _ in range(6):
        flat = twin.step(np.array([0.0, 0.0, 0.0, effort]))[0]
    assert field_of(twin, flat, "gripper_opening") < before - 0.05


def test_the_drawer_opens_along_the_axis_and_to_the_limit_that_the_prompt_says():
    twin = Task.open(load_spec("twin:metaworld_drawer_open"))
    act = twin.spec.expert(twin.env)
    start = flat = twin.reset(1)
    for _ in range(200):
        flat = twin.step(np.asarray(act(twin.raw)))[0]
    first, last = (field_of(twin, seen, "handle_position") for seen in (start, flat))
    ((axis, closed, opened),) = re.findall(
        r"only ([xy]) changes, from about (-?[\d.]+) when closed to about (-?[\d.]+)",
        " ".join(item.field.doc for item in layout(twin.spec.observation)),
    )
    at = "xy".index(axis)
    assert first[at] == pytest.approx(float(closed), abs=0.011)
    beyond = (last[at] - float(opened)) * np.sign(last[at] - first[at])
    assert 0.0 < beyond < 0.05, "the limit is soft"
    np.testing.assert_allclose(np.delete(first, at), np.delete(last, at), atol=1e-6)
    (way,) = re.findall(r"along ([+-][xy]) opens", twin.spec.description)
    assert way == f"{'+' if last[at] > first[at] else '-'}{axis}"
    twin.close()


def test_the_door_opens_to_the_sign_of_its_angle_that_the_prompt_says():
    twin = Task.open(load_spec("twin:metaworld_door_open"))
    act = twin.spec.expert(twin.env)
    flat = twin.reset(1)
    for _ in range(120):
        flat = twin.step(np.asarray(act(twin.raw)))[0]
    docs = " ".join(item.field.doc for item in layout(twin.spec.observation))
    ((word, low, high),) = re.findall(
        r"0 closed, (\w+) when open: .*soft limits at (-?\d) and (-?\d)", docs
    )
    angle = field_of(twin, flat, "door_angle")[0]
    assert angle * (1 if word == "positive" else -1) > 0.3
    assert float(low) < angle < float(high)
    twin.close()
