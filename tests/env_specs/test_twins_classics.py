"""Twins of the classics: what their prompts say of numbers, signs and actions is so."""

import math
import re

import numpy as np
import pytest

from env_specs._twins import classic_worlds
from env_specs._twins.recipes import RECIPES
from env_specs._twins.rewriting import text_of
from promptpo.spec import Task, layout, load_spec, prompt_parts

NAMES = ("cartpole", "mountain_car_continuous", "acrobot", "lunar_lander")
SEEDS = range(4)


class Twin:
    """A twin's task, or the original's, its fields by the names that the original gives them."""

    def __init__(self, name: str, seed: int | str) -> None:
        recipe, names = RECIPES[name], text_of(name)[0].names
        drawn = isinstance(seed, int)
        self.view = recipe.drawn_view(seed, names) if drawn else recipe.plain_view(names)
        self.names = {name: name for name in names} | self.view.names
        self.task = Task.open(load_spec(f"twin:{name}@{seed}" if drawn else name))
        self.env = self.task.env.unwrapped
        self.text = " ".join(prompt_parts(self.task.spec).text.split())
        self.task.reset(0)

    def fields(self, flat):
        found = {item.name: float(flat[item.start]) for item in layout(self.task.spec.observation)}
        return {old: found[new] for old, new in self.names.items() if new in found}

    def step(self, action):
        return self.fields(self.task.step(np.array([float(action)]))[0])

    def said(self, pattern: str) -> list[str]:
        """What a pattern, with the original's words for nouns, finds in the prompt."""
        for old, new in self.names.items():
            pattern = re.sub(rf"\b{old}\b", new, pattern)
        found = re.search(pattern, self.text)
        assert found, f"{pattern} is not in {self.text}"
        return list(found.groups())

    def sign_of(self, up: str, down: str, pattern: str) -> int:
        (word,) = self.said(pattern)
        return {up: 1, down: -1}[word]


@pytest.fixture
def twin(request):
    name, seed = request.param
    opened = Twin(name, seed)
    yield opened
    opened.task.close()


def twins_of(name, seeds=SEEDS):
    return pytest.mark.parametrize("twin", [(name, seed) for seed in seeds], indirect=True)


def test_a_world_of_the_originals_numbers_is_the_original():
    for name in NAMES:
        given = RECIPES[name].world
        scope = {"WORLD": given, "classic_worlds": classic_worlds}
        exec(re.sub(r"^    ", "", RECIPES[name].make(given), flags=re.MULTILINE), scope)  # noqa: S102
        ours, theirs = scope["env"], load_spec(name).make()
        assert ours.observation_space == theirs.observation_space
        theirs.action_space.seed(0)
        for seed in range(3):
            np.testing.assert_array_equal(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])
            over = False
            while not over:
                action = theirs.action_space.sample()
                mine, other = ours.step(action), theirs.step(action)
                assert mine[0].tobytes() == other[0].tobytes()
                assert mine[1:4] == other[1:4]
                over = mine[2] or mine[3]


# --- CartPole ---------------------------------------------------------------------------------


@twins_of("cartpole", (*SEEDS, "original"))
def test_forces_and_signs_of_the_cart_are_the_stated_ones(twin):
    sides = twin.said(r"0 pushes the cart to the (\w+), 1 to the (\w+), each")
    along = twin.sign_of("right", "left", r"0 at the centre, positive to the (\w+)")
    lean = twin.sign_of("right", "left", r"positive when leaning to the (\w+)")
    (force,) = twin.said(r"a force of ([\d.]+) N")
    assert twin.env.force_mag == float(force)
    for action, side in enumerate(sides):
        twin.env.state = np.zeros(4)
        moved = twin.step(action)
        right = 1 if side == "right" else -1
        assert np.sign(moved["cart_velocity"]) == right * along
        assert np.sign(moved["pole_velocity"]) == -right * lean
        assert np.sign(twin.env.state[1]) == right


@twins_of("cartpole", (*SEEDS, "original"))
def test_an_episode_of_the_cart_ends_where_the_prompt_says(twin):
    (track,) = twin.said(r"more than ([\d.]+) m from the centre")
    degrees, radians = twin.said(r"more than (\d+) degrees \(([\d.]+) rad\)")
    assert math.radians(float(degrees)) == pytest.approx(float(radians), abs=1e-4)
    for column, limit in ((0, float(track)), (2, math.radians(float(degrees)))):
        for share, ends in ((0.999, False), (1.001, True)):
            twin.task.reset(0)
            twin.env.state = np.eye(4)[column] * limit * share
            assert twin.task.step(np.array([0.0]))[2] is ends


@twins_of("cartpole", (*SEEDS, "original"))
def test_the_step_of_the_cart_is_the_stated_one(twin):
    twin.env.state = np.array([0.0, 1.0, 0.0, 0.0])
    moved = twin.step(0)["cart_position"]
    assert f"{abs(moved):.6g}" == twin.said(r"steps are ([\d.]+) s apart")[0]


# --- MountainCarContinuous --------------------------------------------------------------------


@twins_of("mountain_car_continuous", range(6))
def test_valley_and_flag_are_where_the_prompt_says(twin):
    shape, low, high, goal = twin.said(
        r"of the shape sin\((\S+) \* position\).* drawn uniformly from (\S+) to (\S+)\."
        r".*position reaches (\S+),"
    )
    (bottom,) = twin.said(r"bottom of the valley at (\S+),")
    starts = [twin.fields(twin.task.reset(seed))["position"] for seed in range(20)]
    assert float(low) <= min(starts) < max(starts) <= float(high)
    sign = twin.view.sign("along")
    assert float(shape) == sign * twin.env.steepness
    assert float(goal) == sign * twin.env.goal_position
    # At the bottom a car without motion and engine stays.
    assert math.cos(float(shape) * float(bottom)) == pytest.approx(0.0, abs=0.03)
    assert math.sin(float(shape) * float(bottom)) < 0


@twins_of("mountain_car_continuous", range(6))
def test_the_engine_pushes_where_the_prompt_says(twin):
    along, pushed = (
        twin.sign_of("right", "left", pattern)
        for pattern in (
            r"in a step, positive to the (\w+)",
            r"of the largest, positive to the (\w+)",
        )
    )
    (hill,) = twin.said(r"climb the (\w+) hill")
    twin.env.state = np.array([-math.pi / 2 / twin.env.steepness, 0.0])
    moved = twin.step(1.0)
    assert np.sign(moved["velocity"]) == along * pushed
    # The flag's hill lies on the stated side of the bottom.
    assert (1 if hill == "right" else -1) == along * twin.view.sign("along")


# --- Acrobot ----------------------------------------------------------------------------------


@twins_of("acrobot")
def test_lengths_heights_and_the_step_of_the_chain_are_the_stated_ones(twin):
    upper, lower = map(float, twin.said(r"first of (\S+) m, the second of (\S+) m, hang"))
    (height,) = twin.said(r"free end is more than (\S+) m above")
    method = getattr(twin.task.spec.observation, twin.view.names["tip_height"])
    angle, bend = 0.7, -1.9
    twin.env.state = np.array([angle, bend, 0.0, 0.0])
    seen = twin.fields(twin.task.spec.observe(twin.env._get_ob(), twin.env))
    named = type("Seen", (), {twin.view.names[old]: value for old, value in seen.items()})
    expected = -upper * math.cos(angle) - lower * math.cos(angle + bend)
    assert method(named) == pytest.approx(expected, abs=1e-6)
    assert twin.env.height == float(height) < upper + lower
    assert f"{twin.env.dt:g}" == twin.said(r"Steps are (\S+) s apart")[0]


@twins_of("acrobot")
def test_torques_and_angles_of_the_chain_are_the_stated_ones(twin):
    sizes = [float(twin.said(rf"[ ,]{action} is (\S+) N m")[0]) for action in range(3)]
    assert sorted(map(abs, sizes))[0] == 0
    first = twin.sign_of("right", "left", r"when that link points to the (\w+)")
    twin.env.state = np.array([0.5, 0.0, 0.0, 0.0])  # anticlockwise of straight down
    seen = twin.fields(twin.task.spec.observe(twin.env._get_ob(), twin.env))
    assert np.sign(seen["sin_angle_1"]) == first
    for action, size in enumerate(sizes):
        twin.env.state = np.zeros(4)
        moved = twin.step(action)
        bent = [np.sign(round(moved[name], 9)) for name in ("velocity_2", "sin_angle_2")]
        assert bent == [np.sign(size)] * 2


# --- LunarLander ------------------------------------------------------------------------------


def pushed(twin, action):
    """What ten steps of an action make of a lander at rest in the air."""
    twin.task.reset(0)
    lander = twin.env.lander
    lander.linearVelocity, lander.angle, lander.angularVelocity = (0, 0), 0, 0
    for _ in range(9):
        twin.step(action)
    return twin.step(action)


@twins_of("lunar_lander")
def test_engines_of_the_lander_do_what_the_prompt_says(twin):
    (text,) = twin.said(r"An int: (0 .*) (?:A|An) engine fires")
    kinds = ("no engine", "to its left", "main engine", "to its right")
    words = [re.sub(r"\bengine\b", twin.view.names["engine"], kind) for kind in kinds]
    order = sorted(range(4), key=lambda kind: text.index(words[kind]))
    idle, left, main, right = (pushed(twin, order.index(kind)) for kind in range(4))
    across = twin.sign_of("right", "left", r"middle, positive (\w+)")
    up = twin.sign_of("up", "down", r"on the pad, positive (\w+);")
    turn = twin.sign_of("left", "right", r"0 upright, positive when leaning to the (\w+)")
    assert across * left["velocity_x"] < across * idle["velocity_x"] < across * right["velocity_x"]
    assert up * main["velocity_y"] > up * idle["velocity_y"]
    assert up * idle["velocity_y"] < 0
    assert turn * left["angle"] > 0.02 > -0.02 > turn * right["angle"]
    assert turn * left["spin"] > 0 > turn * right["spin"]


@twins_of("lunar_lander", (*SEEDS, "original"))
def test_units_of_the_lander_are_the_stated_ones(twin):
    names, lander = twin.names, twin.env.lander
    seen = twin.step(0)

    def unit(field):
        return float(twin.said(rf'{names[field]}: float = field\( ?unit="([\d.]+) ')[0])

    signs = [twin.view.sign(group) for group in ("across", "up", "turn")]
    velocity = (lander.linearVelocity.x, lander.linearVelocity.y, lander.angularVelocity)
    for field, sign, value in zip(
        ("velocity_x", "velocity_y", "spin"), signs, velocity, strict=True
    ):
        assert sign * seen[field] * unit(field) == pytest.approx(value, abs=1e-4)
    # 0.6 m is what the legs hold a lander that stands above the ground.
    place = lander.position.x - 10, lander.position.y - twin.env.helipad_y - 0.6
    for field, sign, value in zip(("x", "y"), signs[:2], place, strict=True):
        assert sign * seen[field] * unit(field) == pytest.approx(value, abs=2e-3)
    gravity, step = twin.said(r"gravity is (\S+) m/s\^2, steps are (\S+) s apart")
    assert -twin.env.world.gravity[1] == pytest.approx(float(gravity))
    before = lander.linearVelocity.y
    twin.step(twin.view.orders["choices"].index(0) if twin.view.orders else 0)
    assert lander.linearVelocity.y - before == pytest.approx(
        -float(gravity) * float(step), rel=0.02
    )
