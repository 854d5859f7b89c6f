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


def test_what_rows_share_is_told_once():
    sheet = lines()
    assert row(sheet, "arm x 2")[1] == "(0, +-0.3, -0.4) to (0, +-0.3, 0)"
    assert row(sheet, "0, 1 arm")[1] == "(0, +-0.3, 0)"
    assert "friction" not in row(sheet, "part")
    assert any(line.startswith("Every part: friction 1.") for line in sheet)

    unequal = lines(damping=0.7)
    assert row(unequal, "0 arm")[-1] == "0.5"
    assert row(unequal, "1 arm")[-1] == "0.7"


def test_in_full_every_row_has_all_numbers():
    sheet = lines(full=True, parts={"hull": "hull", "a": "left arm", "b": "right arm"})
    assert row(sheet, "part")[-1] == "friction"
    assert row(sheet, "left arm")[-1] == "1"
    assert row(sheet, "1 arm")[2] == "right arm to hull"


def test_how_long_an_action_is_held():
    held = "An action is held for 4 of these, 0.04 s, and acts without lag."
    assert held in " ".join(lines(frame_skip=4))
    assert held not in " ".join(lines())


def test_a_part_that_is_neither_rod_nor_ball_is_refused():
    with pytest.raises(ValueError, match="the arm is a cylinder, neither a rod nor a ball"):
        lines(shape="cylinder")
