"""What an engineer knows of a MuJoCo body: its data sheet, written from the compiled model."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from .wording import numbers

#: A ``mujoco.MjModel``, which is untyped.
Model: TypeAlias = Any

_WIDTH = 96
_INTEGRATORS = ("Euler, joint damping implicit", "fourth-order Runge-Kutta", "implicit", "implicit")


@dataclass(frozen=True)
class Sheet:
    """How the parts and joints of a model are called in a spec's words, and in which order.

    Attributes:
        parts: rods and balls by the names of their geoms in the model; of one that has no name, by
            that of its body.
        joints: those that the spec knows as joints.
        zero: what positions are counted from, in words.
        origin: the body whose frame's zero that is; empty: the world's.
        axes: those of the space, or of the plane, in which the parts move.
        others: joints that the spec does not call so, such as the slides of the whole body; told
            where something resists them.
    """

    parts: Mapping[str, str]
    joints: Mapping[str, str]
    zero: str
    origin: str = ""
    axes: str = "xz"
    others: Mapping[str, str] = field(default_factory=dict)

    def text(self, model: Model) -> str:
        """The data sheet of a model: sentences and two tables. Needs ``mujoco``."""
        return _Writer(self, model).text()


class _Writer:
    """Writes the sheet of one model, in the posture in which all of its joints are at 0."""

    def __init__(self, sheet: Sheet, model: Model) -> None:
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
        self.touching = any(self._collide(geom, other) for geom in self.geoms
                            for other in range(model.ngeom))  # fmt: skip

    def text(self) -> str:
        """All of it."""
        about = "at right angles to the plane" if len(self.axes) == 2 else "across the part"
        balls = ", and balls" if any(len(self._ends(geom)) == 1 for geom in self.geoms) else ""
        head = (
            f"Positions are ({', '.join(self.sheet.axes)}) in m from {self.sheet.zero}, in the"
            " posture in which all joint angles are 0. Parts are rods with round ends, whose"
            f" centres are given{balls}; moments of inertia are about an axis {about} through the"
            " centre of mass."
        )
        paragraphs = [head, *self._parts(), self._joints(), " ".join(self._sentences())]
        return "\n\n".join(
            part if "\n" in part else textwrap.fill(part, _WIDTH, break_on_hyphens=False)
            for part in paragraphs
        )

    # --- Parts --------------------------------------------------------------------------------

    def _parts(self) -> Iterator[str]:
        rows: list[tuple[str, ...]] = [
            ("part", "ends of its axis", "radius m", "mass kg", "inertia kg m^2")
        ]
        shared = []
        for geom, words in self.geoms.items():
            body = int(self.model.geom_bodyid[geom])
            first = self.bodies[body][0]
            mass = _number(self.model.body_mass[body]) if geom == first else ""
            inertia = _number(self._inertia(body)) if geom == first else ""
            if geom != first:
                shared.append(
                    f"The {words} is one rigid body with the {self.geoms[first]}, whose mass and"
                    " inertia are those of both; their centre of mass is at"
                    f" {self._point(self.data.xipos[body])}."
                )
            ends = " to ".join(map(self._point, self._ends(geom)))
            radius = _number(self.model.geom_size[geom][0])
            rows.append((words, ends, radius, mass, inertia))
        if self.touching:
            column = ["friction", *(_number(self.model.geom_friction[g][0]) for g in self.geoms)]
            rows = [(*row, cell) for row, cell in zip(rows, column, strict=True)]
        yield _table(rows)
        if shared:
            yield " ".join(shared)

    def _ends(self, geom: int) -> list[np.ndarray]:
        """Centres of a rod's round ends, or that of a ball."""
        import mujoco

        middle = self.data.geom_xpos[geom]
        if self.model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_SPHERE:
            return [middle]
        half = self.model.geom_size[geom][1] * self.data.geom_xmat[geom].reshape(3, 3)[:, 2]
        return [middle - half, middle + half]

    def _point(self, place: np.ndarray) -> str:
        return numbers([_rounded(x) for x in (place - self.zero)[self.axes]])

    def _inertia(self, body: int) -> float:
        """In the plane, the moment about its normal; in space, the greatest."""
        moments = self.model.body_inertia[body]
        if len(self.axes) != 2:
            return float(moments.max())
        (across,) = {0, 1, 2} - set(self.axes)
        normal = self.data.ximat[body].reshape(3, 3)[across]
        return float(normal**2 @ moments)

    # --- Joints -------------------------------------------------------------------------------

    def _joints(self) -> str:
        """A row a joint: its place, what it joins, and what resists it."""
        model = self.model
        others = {n: words for n, words in self.sheet.others.items() if any(self._resistance(n))}
        named = {n: f"{i} {words}" for i, (n, words) in enumerate(self.sheet.joints.items())}
        named |= others
        sprung = any(model.joint(name).stiffness[0] for name in named)
        head = ["joint", "at", "joins", "damping", "armature"]
        rows = [[*head, "stiffness"] if sprung else head]
        for name, words in named.items():
            joint = model.joint(name).id
            place = self._point(self.data.xanchor[joint])
            resistance = [_number(x) for x in self._resistance(name)]
            cells = [words, place, self._joined(joint), *resistance]
            rows.append(cells if sprung else cells[:-1])
        return _table(rows)

    def _resistance(self, name: str) -> list[float]:
        """Damping, armature and stiffness."""
        joint = self.model.joint(name)
        return [float(x[0]) for x in (joint.damping, joint.armature, joint.stiffness)]

    def _joined(self, joint: int) -> str:
        """The part that a joint moves, and the one that it is hinged to."""
        body = int(self.model.jnt_bodyid[joint])
        parent = int(self.model.body_parentid[body])
        moved, base = (self._word(b) for b in (body, parent))
        return f"{moved} to {base}" if base else moved

    def _word(self, body: int) -> str:
        """What the sheet calls a body; empty for the world."""
        return self.geoms[self.bodies[body][0]] if body in self.bodies else ""

    # --- The rest -----------------------------------------------------------------------------

    def _sentences(self) -> Iterator[str]:
        model, option = self.model, self.model.opt
        units = "Damping is in N m s/rad, the rotors' inertia (armature) in kg m^2"
        slides = any(model.joint(n).type[0] == 2 for n in self._told())
        slides_words = " (of slides: N s/m, kg)" if slides else ""
        sprung = any(model.joint(n).stiffness[0] for n in self._told())
        springs = ", stiffness in N m/rad, of springs that draw the joint to 0" if sprung else ""
        yield f"{units}{slides_words}{springs}."
        if self.touching:
            yield from self._contacts()
        else:
            yield "Nothing collides with anything."
        pull = [_number(abs(g)) if abs(g) > 1e-3 else "" for g in option.gravity]
        plane = {2: "downward", 1: "along -y", 0: "along -x"}
        acting = [f"{pull[a]} m/s^2 {plane[a]}" for a in self.axes if pull[a]]
        yield f"Gravity is {', '.join(acting)}." if acting else "Gravity acts across the plane."
        if option.density or option.viscosity:
            yield (
                f"The fluid has density {_number(option.density)} kg/m^3 and viscosity"
                f" {_number(option.viscosity)} Pa s; it acts on each part as on a box of the same"
                " mass and moments of inertia."
            )
        integrator = _INTEGRATORS[option.integrator]
        yield f"Motion is integrated in steps of {_number(option.timestep)} s ({integrator})."

    def _told(self) -> list[str]:
        others = [name for name in self.sheet.others if any(self._resistance(name))]
        return [*self.sheet.joints, *others]

    def _contacts(self) -> Iterator[str]:
        model = self.model
        floors = [geom for geom in range(model.ngeom) if not model.geom_bodyid[geom]]
        floor = next((g for g in floors if any(self._collide(g, own) for own in self.geoms)), None)
        pairs = [pair for pair in combinations(self.geoms, 2) if self._collide(*pair)]
        each_other = bool(pairs)
        with_floor = "with the floor"
        others = " and with each other, unless joined" if each_other else ", not with each other"
        yield (
            f"Parts collide {with_floor}{others}."
            if floor is not None
            else ("Parts collide with each other, unless joined.")
        )
        own = (
            f"; the floor's is {_number(model.geom_friction[floor][0])}"
            if floor is not None
            else ""
        )
        # A contact has the greater of two dimensions; of dimension 1 it has no friction.
        if pairs and all(max(model.geom_condim[list(pair)]) == 1 for pair in pairs):
            yield (
                "Their contacts with each other are frictionless; on the floor the greater"
                f" coefficient of sliding friction counts{own}."
            )
        else:
            yield f"Of two that touch, the greater coefficient of sliding friction counts{own}."

    def _collide(self, a: int, b: int) -> bool:
        """Whether two geoms can touch: of bodies not joined, one of them a part of the sheet."""
        model = self.model
        bodies = int(model.geom_bodyid[a]), int(model.geom_bodyid[b])
        if bodies[0] == bodies[1]:
            return False
        for body, other in (bodies, bodies[::-1]):
            if other and model.body_parentid[body] == other:
                return False
        types, affinities = model.geom_contype, model.geom_conaffinity
        return bool(types[a] & affinities[b] or types[b] & affinities[a])


def _geom(model: Model, name: str) -> int:
    """The geom of a name, or the first of the body of that name."""
    import mujoco

    geom = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, name)
    return int(geom) if geom >= 0 else int(model.body(name).geomadr[0])


def _rounded(value: float) -> float:
    """Three significant digits, and none below a tenth of a millimetre."""
    return float(_number(round(_exact(value), 4)))


def _number(value: float) -> str:
    """Three significant digits, without an exponent from a thousand on."""
    return f"{float(f'{_exact(value):.3g}') + 0.0:g}"


def _exact(value: float) -> float:
    """Without the last digits, which hang on the way that a number was computed on."""
    return float(f"{value:.9g}")


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Rows with their columns aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
