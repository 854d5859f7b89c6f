"""Data sheets of MuJoCo bodies, written from the compiled model."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from promptpo.spec.definition import Env
from promptpo.spec.writing import exact, number, table

#: A ``mujoco.MjModel``, which is untyped.
Model: TypeAlias = Any

#: A point, in m, rounded.
Place: TypeAlias = tuple[float, ...]

#: A row of a table: words, or points as "here to there".
Row: TypeAlias = Sequence[str | tuple[Place, ...]]

_WIDTH = 96
_INTEGRATORS = ("Euler, joint damping implicit", "fourth-order Runge-Kutta", "implicit", "implicit")


@dataclass(frozen=True)
class BodySheet:
    """Names of the parts and joints of a model in a spec's words, in their order.

    Parts of the same words, and joints, share a row where they are alike or mirror each other.

    Attributes:
        parts: rods and balls by the names of their geoms in the model; of one that has no name, by
            that of its body.
        joints: those that the spec knows as joints.
        zero: the origin of positions, in words.
        origin: the body whose frame's zero that is; empty: the world's.
        axes: those of the space, or of the plane, in which the parts move.
        others: joints that the spec does not call so, such as the slides of the whole body; named
            where something resists them.
        full: every part and joint has a row of its own with all of its numbers, and places to a
            tenth of a millimetre.
    """

    parts: Mapping[str, str]
    joints: Mapping[str, str]
    zero: str
    origin: str = ""
    axes: str = "xz"
    others: Mapping[str, str] = field(default_factory=dict)
    full: bool = False

    def text(self, model: Model, frame_skip: int = 0) -> str:
        """Return the data sheet of a model: sentences and two tables. Needs ``mujoco``.

        ``frame_skip`` is how many of the simulator's steps an action lasts; 0: not stated.

        Raises:
            KeyError: the model has no geom, body or joint of a name.
            ValueError: a part is neither a rod (capsule) nor a ball.
        """
        return _Writer(self, model).text(frame_skip)

    def measured(self, env: Env) -> str:
        """Return that of a live environment of Gymnasium's kind: a spec's ``measured_facts``."""
        env = env.unwrapped
        return self.text(env.model, env.frame_skip)


class _Writer:
    """Writes the sheet of one model, in the posture in which all of its joints are at 0."""

    def __init__(self, sheet: BodySheet, model: Model) -> None:
        import mujoco

        self.sheet, self.model = sheet, model
        self.data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, self.data)
        mujoco.mj_comPos(model, self.data)
        self.geoms: dict[int, str] = {}
        self.bodies: dict[int, list[int]] = {}
        for name, words in sheet.parts.items():  # a geom, or the first of the body of that name
            named = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, name)
            geom = int(named) if named >= 0 else int(model.body(name).geomadr[0])
            self.geoms[geom] = words
            self.bodies.setdefault(int(model.geom_bodyid[geom]), []).append(geom)
        self.zero = self.data.body(sheet.origin).xpos.copy() if sheet.origin else np.zeros(3)
        self.axes = ["xyz".index(axis) for axis in sheet.axes]
        self.touching = any(_touch(model, own, other) for own in self.geoms
                            for other in range(model.ngeom))  # fmt: skip
        # Joints of the table and their words; those that the spec numbers come first.
        self.joints = dict(sheet.joints)
        self.joints |= {n: words for n, words in sheet.others.items() if any(self._resistance(n))}
        self.sprung = any(self._resistance(name)[2] for name in self.joints)

    def text(self, frame_skip: int) -> str:
        """Return all of it."""
        about = "at right angles to the plane" if len(self.axes) == 2 else "across the part"
        balls = ", and balls" if any(len(self._ends(geom)) == 1 for geom in self.geoms) else ""
        unit = "" if self.sheet.full else ", in kg m^2,"
        (parts, shared), (joints, same) = self._parts(), self._joints()
        mirrored = "+-" in parts + joints
        sides = " +- is the sign of the side that a part or joint is on." if mirrored else ""
        head = (
            f"Positions are ({', '.join(self.sheet.axes)}) in m from {self.sheet.zero}, in the"
            " posture in which all joint angles are 0. Parts are rods with round ends, whose"
            f" centres are given{balls}; moments of inertia{unit} are about an axis {about} through"
            f" the centre of mass.{sides}"
        )
        about_parts = [shared, *self._rigid(), *self._whole()]
        about_joints = [same, self._units(), *self._contacts(), *self._medium(frame_skip)]
        return "\n\n".join(
            part if "\n" in part else textwrap.fill(part, _WIDTH, break_on_hyphens=False)
            for part in (head, parts, _joined(about_parts), joints, _joined(about_joints))
            if part
        )

    def _table(
        self, head: Sequence[str], rows: Sequence[Row], label: Callable[[str, list[int]], str]
    ) -> tuple[str, str]:
        """Return a table, and a sentence with the numbers that all of its rows share.

        Rows that are the same but for signs in their points become one; ``label`` returns its
        first cell. In full, every row stands for itself.
        """
        groups: dict[object, list[int]] = {}
        for index, row in enumerate(rows):
            key = index if self.sheet.full else tuple(map(_unsigned, row[: len(head)]))
            groups.setdefault(key, []).append(index)
        cells = [list(head)]
        for group in groups.values():
            columns = list(zip(*(rows[index][: len(head)] for index in group), strict=True))
            cells.append([_merged(column) for column in columns])
            cells[-1][0] = label(cells[-1][0], group)
        if self.sheet.full:
            return table(cells), ""
        shared, rest = [], []
        for at, column in enumerate(zip(*cells, strict=True)):
            if at and len(cells) > 2 and len(set(column[1:])) == 1 and column[1][:1].isdigit():
                name, _, unit = column[0].partition(" ")
                shared.append(f"{name} {column[1]} {unit}".rstrip())
            else:
                rest.append(column)
        sentence = f"Every {head[0]}: {', '.join(shared)}." if shared else ""
        return table(list(zip(*rest, strict=True))), sentence

    # --- Parts --------------------------------------------------------------------------------

    def _parts(self) -> tuple[str, str]:
        """Return a row a part, and the numbers that all rows share."""
        model = self.model
        inertia = "inertia kg m^2" if self.sheet.full else "inertia"
        head = ["part", "ends of its axis", "radius m", "mass kg", inertia]
        head += ["friction"] if self.touching else []
        rows: list[Row] = []
        for geom, words in self.geoms.items():
            body = int(model.geom_bodyid[geom])
            own = geom == self.bodies[body][0]
            mass = number(model.body_mass[body]) if own else ""
            moment = number(self._inertia(body)) if own else ""
            radius, friction = (
                number(model.geom_size[geom][0]),
                number(model.geom_friction[geom][0]),
            )
            ends = tuple(map(self._place, self._ends(geom)))
            rows.append((words, ends, radius, mass, moment, friction))

        def label(words: str, group: list[int]) -> str:
            return f"{words} x {len(group)}" if len(group) > 1 else words

        return self._table(head, rows, label)

    def _rigid(self) -> Iterator[str]:
        """Yield which parts are one body with another."""
        groups: dict[tuple[str, ...], list[Place]] = {}
        for body, geoms in self.bodies.items():
            words = tuple(self.geoms[geom] for geom in geoms)
            if len(words) > 1:
                groups.setdefault(words, []).append(self._place(self.data.xipos[body]))
        for (first, *others), centres in groups.items():
            verb, them = ("is", "both") if len(others) == 1 else ("are", "all")
            yield (
                f"The {' and the '.join(others)} {verb} one rigid body with the {first}, whose mass"
                f" and inertia are those of {them}; their centre of mass is at {_places(centres)}."
            )

    def _whole(self) -> Iterator[str]:
        """Yield which parts no joint moves, and the weight of all together."""
        if self.sheet.full:
            return
        model = self.model
        parents = {body: self._word(int(model.body_parentid[body])) for body in self.bodies}
        fixed = [b for b, parent in parents.items() if parent and not model.body_jntnum[b]]
        pairs = dict.fromkeys((self._word(body), parents[body]) for body in fixed)
        yield from (f"The {part} is fixed to the {parent}." for part, parent in pairs)
        if len(self.bodies) > 1:
            weight = float(sum(model.body_mass[body] for body in self.bodies))
            yield f"Together they weigh {number(weight)} kg."

    def _ends(self, geom: int) -> list[np.ndarray]:
        """Return the centres of a rod's round ends, or that of a ball."""
        import mujoco

        kind = self.model.geom_type[geom]
        middle = self.data.geom_xpos[geom]
        if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
            return [middle]
        if kind != mujoco.mjtGeom.mjGEOM_CAPSULE:
            shape = mujoco.mjtGeom(kind).name.removeprefix("mjGEOM_").lower()
            raise ValueError(f"the {self.geoms[geom]} is a {shape}, neither a rod nor a ball")
        half = self.model.geom_size[geom][1] * self.data.geom_xmat[geom].reshape(3, 3)[:, 2]
        return [middle - half, middle + half]

    def _place(self, point: np.ndarray) -> Place:
        """Return a point with three significant digits, and no more than 3 or 4 decimals."""
        decimals = 4 if self.sheet.full else 3
        values = (point - self.zero)[self.axes]
        return tuple(float(number(round(exact(value), decimals))) for value in values)

    def _inertia(self, body: int) -> float:
        """Return, in the plane, the moment about its normal; in space, the greatest."""
        moments = self.model.body_inertia[body]
        if len(self.axes) != 2:
            return float(moments.max())
        (across,) = {0, 1, 2} - set(self.axes)
        normal = self.data.ximat[body].reshape(3, 3)[across]
        return float(normal**2 @ moments)

    # --- Joints -------------------------------------------------------------------------------

    def _joints(self) -> tuple[str, str]:
        """Return a row a joint: its place and resistance, in full also what it joins."""
        head = ["joint", "at", *(["joins"] if self.sheet.full else []), "damping", "armature"]
        head += ["stiffness"] if self.sprung else []
        rows: list[Row] = []
        for name, words in self.joints.items():
            joint = self.model.joint(name).id
            row: list[str | tuple[Place, ...]] = [words, (self._place(self.data.xanchor[joint]),)]
            if self.sheet.full:
                body = int(self.model.jnt_bodyid[joint])
                moved, base = self._word(body), self._word(int(self.model.body_parentid[body]))
                row.append(f"{moved} to {base}" if base else moved)
            rows.append([*row, *map(number, self._resistance(name))])

        def label(words: str, group: list[int]) -> str:
            numbers = [str(index) for index in group if index < len(self.sheet.joints)]
            return f"{', '.join(numbers)} {words}" if numbers else words

        return self._table(head, rows, label)

    def _resistance(self, name: str) -> list[float]:
        """Return damping, armature and stiffness."""
        joint = self.model.joint(name)
        return [float(x[0]) for x in (joint.damping, joint.armature, joint.stiffness)]

    def _units(self) -> str:
        slides = any(self.model.joint(name).type[0] == 2 for name in self.joints)
        words = "Damping is in N m s/rad, the rotors' inertia (armature) in kg m^2"
        words += " (of slides: N s/m, kg)" if slides else ""
        springs = ", stiffness in N m/rad, of springs that draw the joint to 0"
        return f"{words}{springs if self.sprung else ''}."

    def _word(self, body: int) -> str:
        """Return the sheet's word for a body; empty for the world."""
        return self.geoms[self.bodies[body][0]] if body in self.bodies else ""

    # --- Motion -------------------------------------------------------------------------------

    def _contacts(self) -> Iterator[str]:
        """Yield what the geoms of the body collide with, and the friction of that."""
        if not self.touching:
            yield "Nothing collides with anything."
            return
        model, parts = self.model, list(self.geoms)
        floors = [geom for geom in range(model.ngeom) if not model.geom_bodyid[geom]]
        floor = next((g for g in floors if any(_touch(model, g, own) for own in parts)), None)
        pairs = [(a, b) for a, b in combinations(parts, 2) if _touch(model, a, b)]
        smooth = all(max(model.geom_condim[list(pair)]) == 1 for pair in pairs)
        each_other = f"with each other{' without friction' if smooth else ''}, unless joined"
        own = ""
        if floor is None:
            yield f"Parts collide {each_other}."
        else:
            own = f"; the floor's is {number(model.geom_friction[floor][0])}"
            others = f" and {each_other}" if pairs else ", not with each other"
            yield f"Parts collide with the floor{others}."
        if floor is not None or not smooth:
            yield f"Of two that touch, the greater coefficient of sliding friction counts{own}."

    def _medium(self, frame_skip: int) -> Iterator[str]:
        """Yield gravity, the medium, and the steps in which motion is integrated."""
        option = self.model.opt
        pull = [number(abs(g)) if abs(g) > 1e-3 else "" for g in option.gravity]
        plane = {2: "downward", 1: "along -y", 0: "along -x"}
        acting = [f"{pull[a]} m/s^2 {plane[a]}" for a in self.axes if pull[a]]
        yield f"Gravity is {', '.join(acting)}." if acting else "Gravity acts across the plane."
        if option.density or option.viscosity:
            yield (
                f"The fluid has density {number(option.density)} kg/m^3 and viscosity"
                f" {number(option.viscosity)} Pa s; it acts on each part as on a box of the same"
                " mass and moments of inertia."
            )
        step, integrator = float(option.timestep), _INTEGRATORS[option.integrator]
        yield f"Motion is integrated in steps of {number(step)} s ({integrator})."
        if frame_skip:
            at_once = "" if self.model.actuator_dyntype.any() else ", and acts without lag"
            held = f"{frame_skip} of these, {number(frame_skip * step)} s"
            yield f"An action is held for {held}{at_once}."


def _joined(sentences: Sequence[str]) -> str:
    return " ".join(filter(None, sentences))


def _places(points: Sequence[Place]) -> str:
    """Return one point of several that are the same but for signs: (0.1, +-0.2)."""
    coordinates = (
        f"{values[0]:.6g}" if len(set(values)) == 1 else f"+-{abs(values[0]):.6g}"
        for values in zip(*points, strict=True)
    )
    return f"({', '.join(coordinates)})"


def _merged(column: Sequence[str | tuple[Place, ...]]) -> str:
    """Return a cell for several that are the same but for signs."""
    first = column[0]
    return first if isinstance(first, str) else " to ".join(map(_places, zip(*column, strict=True)))


def _unsigned(cell: str | tuple[Place, ...]) -> object:
    return cell if isinstance(cell, str) else tuple(tuple(map(abs, point)) for point in cell)


def _touch(model: Model, a: int, b: int) -> bool:
    """Return whether two geoms can touch: of bodies not joined, one of them a part of the sheet."""
    bodies = int(model.geom_bodyid[a]), int(model.geom_bodyid[b])
    if bodies[0] == bodies[1]:
        return False
    for body, other in (bodies, bodies[::-1]):
        if other and model.body_parentid[body] == other:
            return False
    types, affinities = model.geom_contype, model.geom_conaffinity
    return bool(types[a] & affinities[b] or types[b] & affinities[a])
