"""Twins of MuJoCo tasks: lengths, heights and places are what their prompts say."""

import re

import numpy as np
import pytest
from live_twins import opened

seeds = pytest.mark.parametrize("seed", [0, 1, 2])


def at_rest(twin):
    """The data of a body in the model's own posture."""
    twin.env.set_state(twin.env.init_qpos, np.zeros(twin.model.nv))
    return twin.env.data


def numbers(twin, pattern):
    return [float(number) for number in twin.told(pattern)]


@seeds
@pytest.mark.parametrize("name", ["hopper", "walker2d"])
def test_start_height_and_the_height_that_ends_the_episode(name, seed):
    twin = opened(name, seed)
    (start,) = numbers(twin, r"middle; starts near ([\d.]+)\"")
    assert at_rest(twin).body("torso").xpos[2] == pytest.approx(start, abs=0.006)
    low, high = twin.env._healthy_z_range
    if name == "hopper":
        assert numbers(twin, r"not above ([\d.]+) m") == [low]
    else:
        assert numbers(twin, r"not between ([\d.]+) m and ([\d.]+) m") == [low, high]
    assert low + 0.2 < start < high - 0.2
    assert twin.env.is_healthy


@seeds
def test_upright_height_of_a_runner(seed):
    twin = opened("halfcheetah", seed)
    (height,) = numbers(twin, r"upright model \(([\d.]+) m\)")
    assert at_rest(twin).body("torso").xpos[2] == pytest.approx(height, abs=1e-3)


@seeds
def test_lengths_and_heights_of_a_ball_with_four_legs(seed):
    twin = opened("ant", seed)
    pattern = r"ball of ([\d.]+) m.*? hip to the ankle, ([\d.]+) m and ([\d.]+) m.*? of ([\d.]+) m"
    ball, link, upper, lower = numbers(twin, pattern)
    data, geom = at_rest(twin), twin.model.geom
    hip, ankle = (data.joint(name).xanchor for name in ("hip_1", "ankle_1"))
    assert geom("torso_geom").size[0] == pytest.approx(ball, abs=0.006)
    assert np.linalg.norm(hip - data.body("torso").xpos) == pytest.approx(link, abs=0.006)
    assert np.linalg.norm(ankle - hip) == pytest.approx(upper, abs=0.006)
    assert 2 * geom("left_ankle_geom").size[1] == pytest.approx(lower, abs=0.006)
    assert numbers(twin, r"centre is at height ([\d.]+) m") == pytest.approx(
        [data.body("torso").xpos[2]], abs=0.006
    )
    assert numbers(twin, r"within ([\d.]+) m and ([\d.]+) m") == [*twin.env._healthy_z_range]


@seeds
def test_rows_of_bodies(seed):
    twin = opened("ant", seed)
    data = at_rest(twin)
    rows = twin.seen("body_positions", twin.env.init_qpos).reshape(13, 3)
    (said,) = twin.told(r"\(their points in brackets\): (.*?\.)")
    torso, link, upper, lower, *rest = map(int, re.findall(r"\d+", said))
    assert sorted([torso, link, upper, lower, *rest]) == list(range(13))
    centre = data.body("torso").xpos
    assert rows[torso] == pytest.approx(centre)
    assert rows[link] == pytest.approx(centre)
    sides = {"front left": (1, 1), "back left": (-1, 1), "back right": (-1, -1)}
    order = ["front left", *re.findall(r"(?:front|back) (?:left|right)", said)[1:]]
    legs = [(link, upper, lower), *zip(rest[::3], rest[1::3], rest[2::3], strict=True)]
    for leg, (_, hip, ankle) in zip(order, legs, strict=True):
        side = sides.get(leg, (1, -1))
        reach = np.array([hip, ankle])
        assert (np.sign(rows[reach, :2] - centre[:2]) == side).all()
        assert np.linalg.norm(rows[ankle] - centre) > np.linalg.norm(rows[hip] - centre)


@seeds
def test_which_way_hips_turn(seed):
    twin = opened("ant", seed)
    (said,) = twin.told(r"A positive hip turns its leg (.*?) ?seen from above")
    ways = dict(re.findall(r"(anticlockwise|clockwise)(?: for ((?:\d|, | and )+))?", said))
    for index, joint in enumerate(twin.joints()):
        if "hip" in joint.name:
            sign = np.sign(twin.seen("joint_angles", twin.moved(joint, 0.3))[index])
            upward = twin.env.data.xaxis[joint.id][2] * sign
            named = ways["anticlockwise" if upward > 0 else "clockwise"]
            assert not named or str(index) in named


@seeds
def test_which_way_ankles_bend_and_how_far(seed):
    twin = opened("ant", seed)
    (bends,) = twin.told(r"Ankles bend the lower leg down, (.*?)\. Soft")
    (limits,) = twin.told(r"hips -0.524 to 0.524, (.*?)\"")
    for index, joint in enumerate(twin.joints()):
        if "hip" in joint.name:
            continue
        ends = [twin.seen("joint_angles", twin.moved(joint, end))[index] for end in joint.range]
        part = twin.model.jnt_bodyid[joint.id]
        tip = twin.env.data.geom_xpos[twin.model.body_geomadr[part]]
        assert tip[2] < twin.env.data.xanchor[joint.id][2] - 0.1
        word = "positive" if min(ends) > 0 else "negative"
        assert re.search(rf"(all|{index}[\d, and]*) with a {word}", bends)
        interval = f"{min(ends):.3f} to {max(ends):.3f}"
        assert re.search(rf"ankles {interval}$|(?<!-){interval} for [^;]*{index}", limits)


@seeds
def test_links_of_a_swimming_chain(seed):
    twin = opened("swimmer", seed)
    front, middle, back = numbers(twin, r"links, ([\d.]+), ([\d.]+) and ([\d.]+) m long from the f")
    assert [2 * twin.model.geom_size[geom][1] for geom in (1, 2, 3)] == pytest.approx(
        [front, middle, back]
    )
    (behind,) = numbers(twin, r"([\d.]+) m behind its middle")
    assert at_rest(twin).geom_xpos[1][0] == pytest.approx(behind)
    assert at_rest(twin).geom_xpos[1][0] > at_rest(twin).geom_xpos[3][0]


@seeds
@pytest.mark.parametrize("name", ["swimmer", "reacher"])
def test_which_angles_are_clockwise(name, seed):
    twin = opened(name, seed)
    found = re.search(r"those of (?:hinge|joint)s? ([\d, and]+), which are positive cl", twin.text)
    clockwise = re.findall(r"\d", found[1]) if found else []
    field = {"swimmer": "hinge_angles", "reacher": "sin_angles"}[name]
    for index, joint in enumerate(twin.joints()):
        seen = twin.seen(field, twin.moved(joint, 0.2))[index]
        assert twin.env.data.xaxis[joint.id][2] == 1.0
        assert (seen < 0) == (str(index) in clockwise)


@seeds
def test_lengths_of_an_arm_and_how_far_it_reaches(seed):
    twin = opened("reacher", seed)
    upper, lower = numbers(twin, r"upper link is ([\d.]+) m.*? it is ([\d.]+) m\.")
    data = at_rest(twin)
    shoulder, elbow = data.xanchor[0], data.xanchor[1]
    assert np.linalg.norm(elbow - shoulder) == pytest.approx(upper, abs=1e-4)
    assert np.linalg.norm(data.body("fingertip").xpos - elbow) == pytest.approx(lower, abs=1e-4)
    (bound,) = numbers(
        twin, r"low=-([\d.]+), high=[\d.]+, frame=\"world\", doc=\"x, y of \w+ minus"
    )
    assert upper + lower + 0.2 < bound < upper + lower + 0.25
    assert upper + lower > 0.2


@seeds
def test_poles_on_a_cart(seed):
    twin = opened("inverted_double_pendulum", seed)
    lower, upper = numbers(twin, r"they are ([\d.]+) m and ([\d.]+) m long")
    data = at_rest(twin)
    assert data.body("pole2").xpos[2] == pytest.approx(lower, abs=1e-4)
    assert data.site("tip").xpos[2] == pytest.approx(lower + upper, abs=1e-4)
    assert numbers(twin, r"; ([\d.]+) upright") == pytest.approx([lower + upper], abs=1e-3)
    first, second = twin.told(r"Rod 0 is the (\w+) one, rod 1 the (\w+) one")
    assert twin.told(r"(lower|upper), (lower|upper) = next_observation") == [first, second]
    assert twin.told(r"angle of rod (\d) is measured from the vertical") == [
        str([first, second].index("lower"))
    ]
    (leaning,) = twin.told(r"positive when leaning (.*?)\. ")
    for index, pole in enumerate((first, second)):
        position = twin.env.init_qpos.copy()
        position[1 if pole == "lower" else 2] = 0.2
        sines = twin.seen("sin_angles", position)
        assert np.flatnonzero(sines).tolist() == [index]
        right = sines[index] * data.site("tip").xpos[0] > 0
        side = "right" if right else "left"
        assert re.search(rf"to the {side} \(-?x\)(?: for {index}|$)", leaning)
        assert (twin.seen("cos_angles", position) > 0).all()
