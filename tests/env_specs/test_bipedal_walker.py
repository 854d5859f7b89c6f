"""BipedalWalker: units, signs and ends are what the words of the spec say."""

import math

import numpy as np
import pytest

from promptpo.spec import Task, layout, load_spec


@pytest.fixture
def task():
    opened = Task.open(load_spec("bipedal_walker"))
    opened.reset(0)
    yield opened
    opened.close()


def fields(task, flat):
    return {f.name: flat[f.slice] for f in layout(task.spec.observation)}


def test_units_are_the_stated_ones(task):
    walker = task.env.unwrapped
    assert fields(task, task.reset(0))["x"] == pytest.approx(4.67, abs=0.02)
    for _ in range(12):
        seen = fields(task, task.step(np.array([0.5, -0.5, -0.5, 0.5]))[0])
    hull, joints = walker.hull, walker.joints
    assert seen["x"] == pytest.approx(hull.position.x, abs=1e-5)
    assert seen["hull_angle"] == pytest.approx(hull.angle, abs=1e-5)
    assert 25 * seen["hull_speed"] == pytest.approx(hull.angularVelocity, abs=1e-4)
    assert 8.3333 * seen["velocity_x"] == pytest.approx(hull.linearVelocity.x, abs=1e-4)
    assert 12.5 * seen["velocity_y"] == pytest.approx(hull.linearVelocity.y, abs=1e-4)
    angles, speeds = [j.angle for j in joints], [j.speed for j in joints]
    assert seen["hip_angles"] == pytest.approx(angles[::2], abs=1e-5)
    assert seen["knee_angles"] == pytest.approx(angles[1::2], abs=1e-5)
    assert 4 * seen["hip_speeds"] == pytest.approx(speeds[::2], abs=1e-4)
    assert 6 * seen["knee_speeds"] == pytest.approx(speeds[1::2], abs=1e-4)


def test_motors_turn_joints_and_legs_as_described(task):
    for joint in range(4):
        ends = {}
        for sign in (-1.0, 1.0):
            task.reset(0)
            action = np.zeros(4)
            action[joint] = sign
            for _ in range(6):
                seen = fields(task, task.step(action)[0])
            ends[sign] = [*zip(seen["hip_angles"], seen["knee_angles"], strict=True)]
        leg, knee = divmod(joint, 2)
        assert ends[1.0][leg][knee] > ends[-1.0][leg][knee] + 0.1
    for angle in (-0.5, 0.5):  # a positive angle is forward of straight down, and nose up
        body = task.env.unwrapped.hull
        body.angle = angle
        assert (body.GetWorldVector((0, -1))[0] > 0) == (body.GetWorldVector((1, 0))[1] > 0)
        assert (body.GetWorldVector((0, -1))[0] > 0) == (angle > 0)


def test_rays_measure_the_distance_to_level_ground(task):
    seen = fields(task, task.reset(0))
    walker = task.env.unwrapped
    height = walker.hull.position.y - walker.terrain_y[0]  # level for the first 20 stretches
    for i, share in enumerate(seen["lidar"][:5]):
        assert share * 5.3333 == pytest.approx(height / math.cos(0.15 * i), abs=0.01)


def test_an_episode_does_not_depend_on_those_before_it(task):
    def played(seed):
        task.reset(seed)
        return [task.step(np.array([0.9, -0.4, -0.9, 0.4]))[0].tobytes() for _ in range(50)]

    first = played(2)
    played(0)
    assert played(2) == first


def test_walking_to_the_end_is_success_and_falling_is_not(task):
    walker = task.env.unwrapped
    for shift, success in ((85.0, True), (-6.0, False)):
        task.reset(0)
        for body in (walker.hull, *walker.legs):
            body.position = (body.position.x + shift, body.position.y)
        _, reward, over, _, met = task.step(np.zeros(4))
        assert over
        assert met == success
        assert (reward == -100) != success
