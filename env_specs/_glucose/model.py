"""A virtual patient with type 1 diabetes: the UVA/Padova model of 2008, for adult#001.

Dalla Man, Rizza, Cobelli: Meal simulation model of the glucose-insulin system (IEEE Trans. Biomed.
Eng. 54, 2007); Kovatchev et al.: In silico preclinical trials (J. Diabetes Sci. Technol. 3, 2009).
Written after those equations in the form and with the parameters of simglucose 0.2.11, whose
trajectories it gives (``tests/env_specs/test_glucose.py``). Parameters: ``patient.json``.

simglucose integrates with an adaptive Dormand-Prince method. All inputs are constant for a minute
and the fastest rates are near 0.3 per minute, so here a minute is one step of the classical
Runge-Kutta method of order 4. It is within 0.01 mg/dL of simglucose over days of meals, and with
eight steps a minute within 0.00001 mg/dL.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

_PARAMETERS = Path(__file__).with_name("patient.json")

#: The 13 compartments, in the order of :func:`equations`.
State: TypeAlias = tuple[float, ...]

#: A meal is eaten at this rate, g/min.
EATING_RATE = 5.0

#: Insulin of one unit, pmol.
PMOL = 6000.0


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(_PARAMETERS.read_text(encoding="utf-8"))
    return data


def parameters() -> SimpleNamespace:
    """The patient's parameters by the names of the publications; ``start`` has the 13 states."""
    return SimpleNamespace(**_data()["parameters"])


def grams_per_unit() -> float:
    """Carbohydrate that 1 U of insulin covers, as a clinic would tell this patient."""
    return float(_data()["grams_per_unit"])


def basal_rate() -> float:
    """Insulin that keeps the patient's steady state without meals, U/min."""
    return float(parameters().u2ss * parameters().BW / PMOL)


def equations(p: SimpleNamespace) -> Callable[[State, float, float, float], State]:
    """Return ``rates(state, eaten, insulin, meal)``: the derivative of the state per minute.

    ``eaten`` is carbohydrate in mg/min, ``insulin`` pmol/kg/min; ``meal`` is what stomach and mouth
    have had of the current meal, mg, on which the emptying of the stomach depends.

    The state: 0 solid and 1 liquid carbohydrate in the stomach, 2 in the gut (mg); glucose in
    3 plasma and 4 slow tissue (mg/kg); insulin in 5 plasma (pmol/kg); 6 insulin's action on uptake,
    7 and 8 its delayed action on production (pmol/L); insulin in 9 liver, 10 and 11 under the skin
    (pmol/kg); 12 glucose under the skin (mg/kg).
    """
    kmax, kmin, kabs, b, d = p.kmax, p.kmin, p.kabs, p.b, p.d
    appearing, half = p.f * p.kabs / p.BW, (p.kmax - p.kmin) / 2.0
    kp1, kp2, kp3, ke1, ke2, used = p.kp1, p.kp2, p.kp3, p.ke1, p.ke2, p.Fsnc
    k1, k2, vm0, vmx, km0 = p.k1, p.k2, p.Vm0, p.Vmx, p.Km0
    ka1, ka2, kd, m1, m2 = p.ka1, p.ka2, p.kd, p.m1, p.m2
    leaves_plasma, leaves_liver, leaves_skin = p.m2 + p.m4, p.m1 + p.m30, p.ka1 + p.kd
    p2u, ki, ksc, vi, ib = p.p2u, p.ki, p.ksc, p.Vi, p.Ib
    tanh = math.tanh

    def rates(x: State, eaten: float, insulin: float, meal: float) -> State:
        solid, liquid, gut, plasma, tissue, blood, uptake, delay, late, liver, s1, s2, skin = x
        emptying = kmax
        if meal > 0.0:
            stomach = solid + liquid
            fills = tanh(2.5 / (meal * (1.0 - b)) * (stomach - b * meal))
            drains = tanh(2.5 / (meal * d) * (stomach - d * meal))
            emptying = kmin + half * (fills - drains + 2.0)
        produced = kp1 - kp2 * plasma - kp3 * late
        excreted = ke1 * (plasma - ke2) if plasma > ke2 else 0.0
        to_plasma = (produced if produced > 0.0 else 0.0) + appearing * gut - used - excreted
        taken_up = (vm0 + vmx * uptake) * tissue / (km0 + tissue)
        concentration = blood / vi
        from_skin = ka1 * s1 + ka2 * s2
        # As in simglucose, a compartment that rounding has made negative stands still.
        return (
            eaten - kmax * solid,
            kmax * solid - emptying * liquid,
            emptying * liquid - kabs * gut,
            to_plasma - k1 * plasma + k2 * tissue if plasma >= 0.0 else 0.0,
            k1 * plasma - k2 * tissue - taken_up if tissue >= 0.0 else 0.0,
            m1 * liver - leaves_plasma * blood + from_skin if blood >= 0.0 else 0.0,
            p2u * (concentration - ib - uptake),
            ki * (concentration - delay),
            ki * (delay - late),
            m2 * blood - leaves_liver * liver if liver >= 0.0 else 0.0,
            insulin - leaves_skin * s1 if s1 >= 0.0 else 0.0,
            kd * s1 - ka2 * s2 if s2 >= 0.0 else 0.0,
            ksc * (plasma - skin) if skin >= 0.0 else 0.0,
        )

    return rates


class Patient:
    """The patient, minute by minute. ``state`` is as :func:`equations` says.

    With a seed, the glucose of plasma, tissue and skin at the start is drawn about the patient's
    steady state, each with a variance of a tenth of it, as simglucose's environment does. Each
    minute is integrated in ``substeps`` equal steps.
    """

    def __init__(self, seed: int | None = None, substeps: int = 1) -> None:
        p = parameters()
        start = list(p.start)
        if seed is not None:
            mean = np.array([start[i] for i in (3, 4, 12)])
            draw = np.random.RandomState(seed).multivariate_normal(mean, np.diag(0.1 * mean))
            start[3], start[4], start[12] = (float(value) for value in draw)
        self.state: State = tuple(start)
        self._rates = equations(p)
        self._substeps = substeps
        self._volume: float = p.Vg
        self._weight: float = p.BW
        self._waiting = 0.0
        self._eating = False
        self._meal = start[0] + start[1]

    @property
    def glucose(self) -> float:
        """Concentration under the skin, mg/dL."""
        return self.state[12] / self._volume

    def minute(self, carbohydrate: float, insulin: float) -> None:
        """Live for a minute: ``carbohydrate`` (g) is served now, ``insulin`` flows in (U/min)."""
        self._waiting += carbohydrate
        eaten = min(EATING_RATE, self._waiting)
        self._waiting = max(0.0, self._waiting - eaten)
        if eaten > 0.0 and not self._eating:
            self._meal = self.state[0] + self.state[1]
        self._eating = eaten > 0.0
        self._meal += 1000.0 * eaten
        self._integrate(1000.0 * eaten, insulin * PMOL / self._weight)

    def _integrate(self, eaten: float, insulin: float) -> None:
        rates, meal, x, h = self._rates, self._meal, self.state, 1.0 / self._substeps
        for _ in range(self._substeps):
            a = rates(x, eaten, insulin, meal)
            b = rates(_moved(x, a, 0.5 * h), eaten, insulin, meal)
            c = rates(_moved(x, b, 0.5 * h), eaten, insulin, meal)
            d = rates(_moved(x, c, h), eaten, insulin, meal)
            slopes = zip(x, a, b, c, d, strict=True)
            x = tuple([v + h * (i + 2.0 * (j + k) + m) / 6.0 for v, i, j, k, m in slopes])
        self.state = x


def _moved(x: State, slope: State, time: float) -> State:
    return tuple([v + time * r for v, r in zip(x, slope, strict=True)])
