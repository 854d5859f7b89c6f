"""Data sheets of Meta-World's tasks: how late the hand follows, and what can be touched.

All of it is measured in an episode of one seed; no task of ours says other numbers for others.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from promptpo.spec import Env
from promptpo.spec.writing import number, table

from .world import reset

_SEED = 0
#: Pieces further than this from a position, in m, are not told.
_NEAR = 0.1
_RISE, _REST = 20, 15
_SHAPES = {0: "plane", 2: "ball", 3: "rod", 4: "ellipsoid", 5: "cylinder", 6: "box", 7: "mesh"}
_AXES = "xyz"


@dataclass(frozen=True)
class ArmSheet:
    """The data sheet of a task; its things are those whose fields are ``NAME_position``."""

    things: tuple[str, ...]

    def measured(self, env: Env) -> str:
        """What the live environment says: a spec's ``measured_facts``. Begins an episode."""
        return _Measuring(env.unwrapped, self.things).text()


class _Measuring:
    def __init__(self, env: Any, things: Sequence[str]) -> None:  # noqa: ANN401 - Meta-World's
        import mujoco

        reset(env, _SEED)
        self.env, self.things = env, things
        self.model, self.data = env.model, env.data
        # What is observed at first may be of before all was placed.
        mujoco.mj_forward(self.model, self.data)

    def text(self) -> str:
        """Touch first, then motion: that moves the hand."""
        touched = [*self._hand(), *self._objects()]
        parts = [" ".join([*self._motion(), *self._gripper()]), *touched]
        return "\n\n".join(
            part if "\n" in part else textwrap.fill(part, 96, break_on_hyphens=False)
            for part in parts
        )

    # --- Motion -------------------------------------------------------------------------------

    def _played(self, action: Sequence[float], steps: int) -> np.ndarray:
        """Height of hand and of command in mm, and the gripper's opening, after each step."""
        rows = []
        for _ in range(steps):
            raw = self.env.step(np.array(action, dtype=float))[0]
            rows.append((1e3 * raw[2], 1e3 * self.data.mocap_pos[0, 2], raw[3]))
        return np.array(rows)

    def _motion(self) -> Iterator[str]:
        before = 1e3 * np.array([self.env.get_endeff_pos()[2], self.data.mocap_pos[0, 2]])
        up = self._played((0, 0, 1, 0), _RISE)
        after = self._played((0, 0, 0, 0), _REST)
        heights = np.concatenate([before[:1], up[:, 0], after[:, 0]])
        by = [f"{change:.1f}" for change in np.diff(heights)]
        command = up[0, 1] - before[1]
        yield (
            f"A step takes {number(self.env.dt)} s. An action of 1 moves the commanded position by"
            f" {number(round(command, 3))} mm, at once; the hand follows it late. Measured: with"
            f" action[2] = 1 for {_RISE} steps from the start, the hand rises by"
            f" {', '.join(by[:6])} mm in the first six steps and {by[_RISE - 1]} mm in the last,"
            f" {up[-1, 1] - up[-1, 0]:.0f} mm behind the command. With zeros after that it goes on"
            f" by {', '.join(by[_RISE : _RISE + 6])} mm, in all"
            f" {after[-1, 0] - up[-1, 0]:.0f} mm in {_REST} steps."
        )

    def _gripper(self) -> Iterator[str]:
        ways = []
        for effort in (1, -1):
            opening = self._played((0, 0, 0, effort), 20)[4::5, 2]
            ways.append(", ".join(f"{value:.2f}" for value in opening))
        yield (
            "The empty gripper closes with action[3] = 1 to a gripper_opening of"
            f" {ways[0]} after 5, 10, 15, 20 steps, and opens again with -1 to {ways[1]}."
        )

    # --- Touch --------------------------------------------------------------------------------

    @cached_property
    def _solid(self) -> list[int]:
        """The geoms that touch others, but for those of the world's floor."""
        model = self.model
        return [g for g in range(1, model.ngeom) if model.geom_contype[g] & 1 or
                model.geom_conaffinity[g] & 1]  # fmt: skip

    def _box(self, geoms: Sequence[int], place: np.ndarray) -> np.ndarray:
        """Lower and upper corner of what holds the geoms, from a place: shape (2, 3)."""
        corners = []
        for geom in geoms:
            turned = self.data.geom_xmat[geom].reshape(3, 3)
            middle, half = np.split(self.model.geom_aabb[geom], 2)
            middle = self.data.geom_xpos[geom] + turned @ middle - place
            half = np.abs(turned) @ half
            corners.append((middle - half, middle + half))
        low, high = np.array(corners).transpose(1, 0, 2)
        return np.array([low.min(0), high.max(0)])

    def _of(self, *bodies: str) -> list[int]:
        ids = {self.model.body(name).id for name in bodies}
        return [geom for geom in self._solid if int(self.model.geom_bodyid[geom]) in ids]

    def _hand(self) -> Iterator[str]:
        place = self.env.tcp_center
        rows = [["from fingertip_position", *_AXES]]
        fingers = [("leftclaw", "leftpad"), ("rightclaw", "rightpad")]
        for name, bodies in zip(("far finger", "near finger"), fingers, strict=True):
            rows.append([name, *_spans(self._box(self._of(*bodies), place))])
        rows.append(["hand", *_spans(self._box(self._of("right_hand"), place))])
        friction = number(self.model.geom("leftpad_geom").friction[0])
        yield (
            "What can be touched, as boxes that just hold each piece, in m; first of the open"
            f" gripper, whose pads have a coefficient of sliding friction of {friction} (of two"
            " that touch, the greater counts):"
        )
        yield table(rows)

    def _objects(self) -> Iterator[str]:
        places = np.split(np.asarray(self.env._get_pos_objects(), dtype=float), len(self.things))
        for name, place in zip(self.things, places, strict=True):
            group = self._group_at(place)
            pieces = [
                (geom, box)
                for geom in self._solid
                if self._root(int(self.model.geom_bodyid[geom])) == group
                and _gap(box := self._box([geom], place)) < _NEAR
            ]
            rows = [[f"from {name}_position", *_AXES]]
            rows += [[_SHAPES[int(self.model.geom_type[g])], *_spans(box)] for g, box in pieces]
            if pieces:
                yield table(rows)
            yield " ".join(self._moving(name, group, place, [geom for geom, _ in pieces]))

    def _root(self, body: int) -> int:
        """The body that a body is fixed to: the one of them that moves; 0: none does."""
        return int(self.model.body_weldid[body])

    def _group_at(self, place: np.ndarray) -> int:
        """The rigid thing that moves and of which something is nearest to a place."""
        model, data = self.model, self.data
        arm = model.body_rootid[model.body("hand").id]
        points = [*zip(range(model.nbody), data.xpos, strict=True)]
        points += zip(model.geom_bodyid, data.geom_xpos, strict=True)
        points += zip(model.site_bodyid, data.site_xpos, strict=True)
        away = [
            (float(np.linalg.norm(point - place)), self._root(int(body)))
            for body, point in points
            if self._root(int(body)) and model.body_rootid[body] != arm
        ]
        return min(away)[1]

    def _moving(
        self, name: str, group: int, place: np.ndarray, pieces: Sequence[int]
    ) -> Iterator[str]:
        """How what a position belongs to can move, and what resists that."""
        model = self.model
        bodies = [body for body in range(model.nbody) if self._root(body) == group]
        mass = number(sum(model.body_mass[body] for body in bodies))
        yield f"What {name}_position belongs to weighs {mass} kg."
        for joint in range(model.njnt):
            if self._root(int(model.jnt_bodyid[joint])) == group and model.jnt_type[joint] >= 2:
                yield self._jointed(joint, place)
        frictions = sorted({number(model.geom_friction[geom][0]) for geom in pieces})
        if frictions:
            yield f"Its coefficient of sliding friction is {' and '.join(frictions)}."

    def _jointed(self, joint: int, place: np.ndarray) -> str:
        model, turning = self.model, self.model.jnt_type[joint] == 3
        axis = self.data.xaxis[joint]
        main = int(np.abs(axis).argmax())
        if abs(axis[main]) < 0.999:
            way = f"({', '.join(_mm(value) for value in axis)})"
        else:
            axis, way = np.sign(axis[main]), _AXES[main]
        sign = axis if np.ndim(axis) == 0 else 1.0
        adr = model.jnt_qposadr[joint]
        words = f"It slides along {way}"
        if turning:
            at = self.data.xanchor[joint] - place
            beside = [f"{_AXES[a]} {_mm(at[a])}" for a in range(3) if a != main]
            words = f"It turns about an axis along {way} at {', '.join(beside)} from there"
        unit, resisting = ("rad", "N m s/rad") if turning else ("m", "N s/m")
        if model.jnt_limited[joint]:
            ends = (sign * (end - self.data.qpos[adr]) for end in model.jnt_range[joint])
            low, high = sorted(float(_mm(end)) for end in ends)
            words += f", by {number(low)} to {number(high)} {unit} from where it is at the start"
        damping = number(model.dof_damping[model.jnt_dofadr[joint]])
        words += f", with a damping of {damping} {resisting}"
        if stiffness := model.jnt_stiffness[joint]:
            rest = model.qpos_spring[adr] - self.data.qpos[adr]
            words += f" and a spring of {number(stiffness)} {'N m/rad' if turning else 'N/m'}"
            words += f" that draws it to {_mm(sign * rest)} {unit} from there"
        return f"{words}."


def _mm(value: float) -> str:
    """A number to a thousandth."""
    return number(round(round(float(value), 7), 3))


def _spans(box: np.ndarray) -> list[str]:
    return [f"{_mm(low)} to {_mm(high)}" for low, high in box.T]


def _gap(box: np.ndarray) -> float:
    """How far a box is from where it is counted from."""
    return float(np.linalg.norm(np.maximum(0.0, np.maximum(box[0], -box[1]))))
