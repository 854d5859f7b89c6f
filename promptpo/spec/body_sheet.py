"""Data sheets of MuJoCo bodies, written from the compiled model."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

#: What stands in a table: words, or points as "here to there".
Cell: TypeAlias = str | tuple[Place, ...]
Row: TypeAlias = Sequence[Cell]


def place(point: Iterable[float], decimals: int) -> Place:
    """A point's numbers: three significant digits, and no more than so many decimals."""
    return tuple(float(number(round(exact(value), decimals))) for value in point)


def places(points: Sequence[Place]) -> str:
    """One point of several that are the same but for signs: (0.1, +-0.2)."""
    coordinates = (
        f"{values[0]:.6g}" if len(set(values)) == 1 else f"+-{abs(values[0]):.6g}"
        for values in zip(*points, strict=True)
    )
    return f"({', '.join(coordinates)})"


def together(rows: Sequence[Row]) -> list[list[int]]:
    """Which rows are the same but for signs in their points, in the order of the first of each."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, row in enumerate(rows):
        groups.setdefault(tuple(map(_unsigned, row)), []).append(index)
    return list(groups.values())


def _unsigned(cell: Cell) -> object:
    return cell if isinstance(cell, str) else tuple(tuple(map(abs, point)) for point in cell)


def merged(rows: Sequence[Row]) -> list[str]:
    """The cells of rows that are the same but for signs, as one row's."""
    cells = []
    for column in zip(*rows, strict=True):
        if isinstance(column[0], str):
            cells.append(column[0])
        else:
            cells.append(" to ".join(map(places, zip(*column, strict=True))))
    return cells


def folded(rows: Sequence[Sequence[str]]) -> tuple[list[list[str]], str]:
    """A table without those columns that hold the same number in all rows, and these in words."""
    columns = list(zip(*rows, strict=True))
    same = [
        at > 0 and len(rows) > 2 and len(set(column[1:])) == 1 and column[1][:1].isdigit()
        for at, column in enumerate(columns)
    ]
    left = [column for column, alike in zip(columns, same, strict=True) if not alike]
    told = (_named(column) for column, alike in zip(columns, same, strict=True) if alike)
    return [list(row) for row in zip(*left, strict=True)], ", ".join(told)


def _named(column: Sequence[str]) -> str:
    name, _, unit = column[0].partition(" ")
    return f"{name} {column[1]}{f' {unit}' if unit else ''}"


_WIDTH = 96


@dataclass(frozen=True)
class BodySheet:
    """How the parts and joints of a model are called in a spec's words, and in which order.

    Parts of the same words, and joints, share a row where they are alike or mirror each other.

    Attributes:
        parts: rods and balls by the names of their geoms in the model; of one that has no name, by
            that of its body.
        joints: those that the spec knows as joints.
        zero: what positions are counted from, in words.
        origin: the body whose frame's zero that is; empty: the world's.
        axes: those of the space, or of the plane, in which the parts move.
        others: joints that the spec does not call so, such as the slides of the whole body; told
            where something resists them.
        full: whether every part and joint has a row of its own with all of its numbers, places to
            a tenth of a millimetre.
    """

    parts: Mapping[str, str]
    joints: Mapping[str, str]
    zero: str
    origin: str = ""
    axes: str = "xz"
    others: Mapping[str, str] = field(default_factory=dict)
    full: bool = False

    def text(self, model: Model, frame_skip: int = 0) -> str:
        """The data sheet of a model: sentences and two tables. Needs ``mujoco``.

        ``frame_skip`` is how many of the simulator's steps an action lasts; 0: not told.

        Raises:
            KeyError: the model has no geom, body or joint of a name.
            ValueError: a part is neither a rod (capsule) nor a ball.
        """
        return _Writer(self, model).text(frame_skip)

    def measured(self, env: Env) -> str:
        """That of a live environment of Gymnasium's kind: a spec's ``measured_facts``."""
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
        self.geoms = {_geom(model, name): words for name, words in sheet.parts.items()}
        self.bodies: dict[int, list[int]] = {}
        for geom in self.geoms:
            self.bodies.setdefault(int(model.geom_bodyid[geom]), []).append(geom)
        self.zero = self.data.body(sheet.origin).xpos.copy() if sheet.origin else np.zeros(3)
        self.axes = ["xyz".index(axis) for axis in sheet.axes]
        self.touching = any(touch(model, own, other) for own in self.geoms
                            for other in range(model.ngeom))  # fmt: skip

    def text(self, frame_skip: int) -> str:
        """All of it."""
        about = "at right angles to the plane" if len(self.axes) == 2 else "across the part"
        balls = ", and balls" if any(len(self._ends(geom)) == 1 for geom in self.geoms) else ""
        unit = "" if self.sheet.full else ", in kg m^2,"
        (parts, alike), (joints, same) = self._parts(), self._joints()
        mirrored = "+-" in parts + joints
        sides = " +- is the sign of the side that a part or joint is on." if mirrored else ""
        head = (
            f"Positions are ({', '.join(self.sheet.axes)}) in m from {self.sheet.zero}, in the"
            " posture in which all joint angles are 0. Parts are rods with round ends, whose"
            f" centres are given{balls}; moments of inertia{unit} are about an axis {about} through"
            f" the centre of mass.{sides}"
        )
        about_parts = [*alike, *self._rigid(), *self._whole()]
        rest = [*same, self._units(), *contacts(self.model, list(self.geoms))]
        rest += medium(self.model, self.axes, frame_skip)
        return "\n\n".join(
            part if "\n" in part else textwrap.fill(part, _WIDTH, break_on_hyphens=False)
            for part in (head, parts, " ".join(about_parts), joints, " ".join(rest))
            if part
        )

    # --- Parts --------------------------------------------------------------------------------

    def _parts(self) -> tuple[str, list[str]]:
        """A row a part, and what all rows share."""
        inertia = "inertia kg m^2" if self.sheet.full else "inertia"
        head = ["part", "ends of its axis", "radius m", "mass kg", inertia]
        head += ["friction"] if self.touching else []
        rows: list[Row] = []
        for geom, words in self.geoms.items():
            body = int(self.model.geom_bodyid[geom])
            own = geom == self.bodies[body][0]
            mass = number(self.model.body_mass[body]) if own else ""
            moment = number(self._inertia(body)) if own else ""
            radius, friction = (
                number(values[geom][0])
                for values in (self.model.geom_size, self.model.geom_friction)
            )
            ends = tuple(map(self._place, self._ends(geom)))
            rows.append((words, ends, radius, mass, moment, friction)[: len(head)])
        groups = self._groups(rows)
        cells = [merged([rows[index] for index in group]) for group in groups]
        for row, group in zip(cells, groups, strict=True):
            row[0] += f" x {len(group)}" if len(group) > 1 else ""
        return self._table([head, *cells], "part")

    def _groups(self, rows: Sequence[Row]) -> list[list[int]]:
        """Which rows are told as one."""
        return [[index] for index in range(len(rows))] if self.sheet.full else together(rows)

    def _table(self, rows: Sequence[Sequence[str]], what: str) -> tuple[str, list[str]]:
        """A table and, where not all is to be told in full, what all of its rows share."""
        cells, shared = (rows, "") if self.sheet.full else folded(rows)
        return table(cells), [f"Every {what}: {shared}."] if shared else []

    def _rigid(self) -> Iterator[str]:
        """Which parts are one body with another."""
        groups: dict[tuple[str, ...], list[Place]] = {}
        for body, geoms in self.bodies.items():
            words = tuple(self.geoms[geom] for geom in geoms)
            if len(words) > 1:
                groups.setdefault(words, []).append(self._place(self.data.xipos[body]))
        for (first, *others), centres in groups.items():
            verb, them = ("is", "both") if len(others) == 1 else ("are", "all")
            yield (
                f"The {' and the '.join(others)} {verb} one rigid body with the {first}, whose mass"
                f" and inertia are those of {them}; their centre of mass is at {places(centres)}."
            )

    def _whole(self) -> Iterator[str]:
        """Which parts no joint moves, and what all weigh together."""
        if self.sheet.full:
            return
        model = self.model
        parents = {body: self._word(int(model.body_parentid[body])) for body in self.bodies}
        fixed = [b for b, parent in parents.items() if parent and not model.body_jntnum[b]]
        told = dict.fromkeys((self._word(body), parents[body]) for body in fixed)
        yield from (f"The {part} is fixed to the {parent}." for part, parent in told)
        if len(self.bodies) > 1:
            weight = float(sum(model.body_mass[body] for body in self.bodies))
            yield f"Together they weigh {number(weight)} kg."

    def _ends(self, geom: int) -> list[np.ndarray]:
        """Centres of a rod's round ends, or that of a ball."""
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
        return place((point - self.zero)[self.axes], 4 if self.sheet.full else 3)

    def _inertia(self, body: int) -> float:
        """In the plane, the moment about its normal; in space, the greatest."""
        moments = self.model.body_inertia[body]
        if len(self.axes) != 2:
            return float(moments.max())
        (across,) = {0, 1, 2} - set(self.axes)
        normal = self.data.ximat[body].reshape(3, 3)[across]
        return float(normal**2 @ moments)

    # --- Joints -------------------------------------------------------------------------------

    def _joints(self) -> tuple[str, list[str]]:
        """A row a joint: its place and what resists it, in full also what it joins."""
        joins = ["joins"] if self.sheet.full else []
        head = ["joint", "at", *joins, "damping", "armature"]
        head += ["stiffness"] if self._sprung() else []
        rows: list[Row] = []
        for name, words in self._told().items():
            joint = self.model.joint(name).id
            row: list[Cell] = [words, (self._place(self.data.xanchor[joint]),)]
            row += [self._joined(joint)] if joins else []
            row += map(number, self._resistance(name))
            rows.append(row[: len(head)])
        groups = self._groups(rows)
        cells = [merged([rows[index] for index in group]) for group in groups]
        for told, group in zip(cells, groups, strict=True):
            numbers = [str(index) for index in group if index < len(self.sheet.joints)]
            told[0] = f"{', '.join(numbers)} {told[0]}" if numbers else told[0]
        return self._table([head, *cells], "joint")

    def _told(self) -> dict[str, str]:
        """The joints of the table and their words; those that the spec numbers come first."""
        others = {n: words for n, words in self.sheet.others.items() if any(self._resistance(n))}
        return {**self.sheet.joints, **others}

    def _resistance(self, name: str) -> list[float]:
        """Damping, armature and stiffness."""
        joint = self.model.joint(name)
        return [float(x[0]) for x in (joint.damping, joint.armature, joint.stiffness)]

    def _sprung(self) -> bool:
        return any(self._resistance(name)[2] for name in self._told())

    def _joined(self, joint: int) -> str:
        """The part that a joint moves, and the one that it is hinged to."""
        body = int(self.model.jnt_bodyid[joint])
        parent = int(self.model.body_parentid[body])
        moved, base = (self._word(b) for b in (body, parent))
        return f"{moved} to {base}" if base else moved

    def _units(self) -> str:
        slides = any(self.model.joint(name).type[0] == 2 for name in self._told())
        words = "Damping is in N m s/rad, the rotors' inertia (armature) in kg m^2"
        words += " (of slides: N s/m, kg)" if slides else ""
        springs = ", stiffness in N m/rad, of springs that draw the joint to 0"
        return f"{words}{springs if self._sprung() else ''}."

    def _word(self, body: int) -> str:
        """What the sheet calls a body; empty for the world."""
        return self.geoms[self.bodies[body][0]] if body in self.bodies else ""


def _geom(model: Model, name: str) -> int:
    """The geom of a name, or the first of the body of that name."""
    import mujoco

    geom = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, name)
    return int(geom) if geom >= 0 else int(model.body(name).geomadr[0])


_INTEGRATORS = ("Euler, joint damping implicit", "fourth-order Runge-Kutta", "implicit", "implicit")


def touch(model: Model, a: int, b: int) -> bool:
    """Whether two geoms can touch: of bodies not joined, one of them a part of the sheet."""
    bodies = int(model.geom_bodyid[a]), int(model.geom_bodyid[b])
    if bodies[0] == bodies[1]:
        return False
    for body, other in (bodies, bodies[::-1]):
        if other and model.body_parentid[body] == other:
            return False
    types, affinities = model.geom_contype, model.geom_conaffinity
    return bool(types[a] & affinities[b] or types[b] & affinities[a])


def contacts(model: Model, parts: Sequence[int]) -> Iterator[str]:
    """What the geoms of a body collide with, and the friction of that."""
    if not any(touch(model, own, other) for own in parts for other in range(model.ngeom)):
        yield "Nothing collides with anything."
        return
    floors = [geom for geom in range(model.ngeom) if not model.geom_bodyid[geom]]
    floor = next((g for g in floors if any(touch(model, g, own) for own in parts)), None)
    pairs = [(a, b) for a, b in combinations(parts, 2) if touch(model, a, b)]
    smooth = all(max(model.geom_condim[list(pair)]) == 1 for pair in pairs)
    each_other = f"with each other{' without friction' if smooth else ''}, unless joined"
    others = f" and {each_other}" if pairs else ", not with each other"
    own = ""
    if floor is None:
        yield f"Parts collide {each_other}."
    else:
        own = f"; the floor's is {number(model.geom_friction[floor][0])}"
        yield f"Parts collide with the floor{others}."
    if floor is not None or not smooth:
        yield f"Of two that touch, the greater coefficient of sliding friction counts{own}."


def medium(model: Model, axes: Sequence[int], frame_skip: int) -> Iterator[str]:
    """Gravity, what surrounds the body, and the steps in which its motion is integrated.

    ``axes`` are those of the space or plane; ``frame_skip`` is 0 where it is not told.
    """
    option = model.opt
    pull = [number(abs(g)) if abs(g) > 1e-3 else "" for g in option.gravity]
    plane = {2: "downward", 1: "along -y", 0: "along -x"}
    acting = [f"{pull[a]} m/s^2 {plane[a]}" for a in axes if pull[a]]
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
        at_once = "" if model.actuator_dyntype.any() else ", and acts without lag"
        held = f"{frame_skip} of these, {number(frame_skip * step)} s"
        yield f"An action is held for {held}{at_once}."
