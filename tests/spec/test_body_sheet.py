"""The data sheet of a MuJoCo body: what it says of a small model."""

import mujoco
import pytest

from promptpo.spec import BodySheet

MODEL = """
<mujoco>
  <option timestep="0.01" gravity="0 0 -9.81"/>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 .1"/>
    <body name="hull" pos="0 0 1">
      <freejoint/>
      <geom name="hull" type="sphere" size="0.2" mass="3"/>
      <body name="a" pos="0 0.3 0">
        <joint name="a" axis="1 0 0" damping="0.5"/>
        <geom name="a" type="capsule" fromto="0 0 0 0 0 -0.4" size="0.05" mass="1"/>
      </body>
      <body name="b" pos="0 -0.3 0">
        <joint name="b" axis="1 0 0" damping="{damping}"/>
        <geom name="b" type="{shape}" fromto="0 0 0 0 0 -0.4" size="0.05" mass="1"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="a"/><motor joint="b"/></actuator>
</mujoco>
"""
SHEET = {"zero": "the hull's centre", "origin": "hull", "axes": "xyz"}
PARTS = {"hull": "hull", "a": "arm", "b": "arm"}
JOINTS = {"a": "arm", "b": "arm"}


def lines(damping=0.5, shape="capsule", parts=PARTS, frame_skip=0, **how):
    model = mujoco.MjModel.from_xml_string(MODEL.format(damping=damping, shape=shape))
    return BodySheet(parts, JOINTS, **SHEET, **how).text(model, frame_skip).splitlines()


def row(found, words):
    """The cells of the one row that begins with these words."""
    (line,) = [line for line in found if line.startswith(words)]
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_parts_that_mirror_each_other_share_a_row():
    assert row(lines(), "arm x 2")[1] == "(0, +-0.3, -0.4) to (0, +-0.3, 0)"
    assert row(lines(), "0, 1 arm")[1] == "(0, +-0.3, 0)"


def test_those_that_do_not_have_one_each():
    found = lines(damping=0.7)
    assert row(found, "0 arm")[-1] == "0.5"
    assert row(found, "1 arm")[-1] == "0.7"


def test_what_all_rows_share_is_told_once():
    assert "friction" not in row(lines(), "part")
    assert any(line.startswith("Every part: friction 1.") for line in lines())


def test_in_full_every_row_has_all_numbers():
    found = lines(full=True, parts={"hull": "hull", "a": "left arm", "b": "right arm"})
    assert row(found, "part")[-1] == "friction"
    assert row(found, "left arm")[-1] == "1"
    assert row(found, "1 arm")[2] == "right arm to hull"


@pytest.mark.parametrize(("frame_skip", "told"), [(0, False), (4, True)])
def test_how_long_an_action_is_held(frame_skip, told):
    text = " ".join(lines(frame_skip=frame_skip))
    assert ("An action is held for 4 of these, 0.04 s, and acts without lag." in text) == told


def test_a_part_that_is_neither_rod_nor_ball_is_refused():
    with pytest.raises(ValueError, match="the arm is a cylinder, neither a rod nor a ball"):
        lines(shape="cylinder")
