"""An epidemic in a town of 500 people, 8 hours at a time: an agent-based model in numpy.

Everyone belongs to a household, children also to a class and grown-ups to a workplace, and all
meet all others of the town by chance (shops, bars, neighbours). A day has three parts: the night at
home, the day in class or at work, the evening in town and at home. Five stages of regulation thin
out the contacts outside of the household. An infection is latent, then infectious; for some, by
age, it becomes critical, and of those some die. Who recovers is immune for months. Now and then
somebody is infected out of town, and one day a more contagious variant takes over.

An infectious person presses on each susceptible contact with a rate; somebody under the total rate
f of a part of the day stays well in it with probability exp(-f). The same seed gives the same town
and the same epidemic. The numbers are ours, of the order of the COVID-19 of 2020, such that a
policy that reacts does better than any fixed stage; docs/real_world.md tells what they bring about.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]

PEOPLE, HOUSEHOLDS, CLASSES, WORKPLACES = 500, 150, 10, 24

#: Seniors have neither class nor workplace.
NO_GROUP = CLASSES + WORKPLACES


class Health(IntEnum):
    """What a person goes through."""

    SUSCEPTIBLE = 0
    LATENT = 1
    INFECTIOUS = 2
    CRITICAL = 3
    RECOVERED = 4
    DEAD = 5


#: By age, child, adult, senior: share of the town; chance that an infection shows symptoms, that it
#: becomes critical, and that a critical person dies.
AGE_SHARES = (0.22, 0.58, 0.20)
SYMPTOMS = (0.4, 0.65, 0.8)
CRITICAL = (0.02, 0.11, 0.30)
DEATH = (0.02, 0.10, 0.30)

#: Beds for the critical; while there are too few, death is likelier by this factor.
BEDS, WITHOUT_BED = 5, 2.0

#: Days that a state lasts, fewest and most, all equally likely.
DAYS = {
    Health.LATENT: (3, 6),
    Health.INFECTIOUS: (6, 11),
    Health.CRITICAL: (14, 34),
    Health.RECOVERED: (90, 200),
}

#: Parts of a day, of 8 hours each.
NIGHT, DAY, EVENING = PARTS = range(3)

#: Rates a day of one infectious person: on each other of the household (half at night, half in the
#: evening), on all others of the class or workplace together (by day), on all of the town together
#: (in the evening).
AT_HOME, IN_GROUP, IN_TOWN = 0.03, 0.10, 0.12

#: How many are infected on day 0, and the chance a day that one more is, out of town.
FIRST_CASES, IMPORTED = 5, 0.02

#: The variant raises all rates by this factor, from a day between these on.
VARIANT, VARIANT_DAYS = 1.4, (95, 105)

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Stage:
    """Share of contacts that is left: in classes, at work, in town; ``sick``: of those who are ill.

    Those with symptoms keep the share ``sick`` of what the stage leaves outside of the household.
    """

    school: float
    work: float
    town: float
    sick: float


#: After the stages of Austin, Texas, in 2020: none; hygiene, and the sick are to stay at home;
#: masks, and schools close; gatherings end, bars and restaurants close; what is not essential does.
STAGES = (
    Stage(1.0, 1.0, 1.0, sick=1.0),
    Stage(0.9, 0.9, 0.8, sick=0.5),
    Stage(0.0, 0.7, 0.55, sick=0.5),
    Stage(0.0, 0.6, 0.25, sick=0.5),
    Stage(0.0, 0.1, 0.1, sick=0.5),
)


class Town:
    """The people and their health. ``health``, ``age`` and ``household`` have shape (500,).

    ``part`` counts parts of 8 hours from midnight of day 0, ``infections`` all so far.
    ``variant_day``: None to draw it.
    """

    def __init__(
        self,
        seed: int,
        *,
        first_cases: int = FIRST_CASES,
        imported: float = IMPORTED,
        variant_day: int | None = None,
    ) -> None:
        random = self._random = np.random.default_rng(seed)
        drawn = int(random.integers(*VARIANT_DAYS, endpoint=True))
        self.variant_day = drawn if variant_day is None else variant_day
        self.age: Whole = random.choice(len(AGE_SHARES), PEOPLE, p=AGE_SHARES)
        self.household = self._households()
        self.group: Whole = np.full(PEOPLE, NO_GROUP)
        for age, first, count in ((0, 0, CLASSES), (1, CLASSES, WORKPLACES)):
            members = random.permutation(np.flatnonzero(self.age == age))
            self.group[members] = first + np.arange(len(members)) % count
        self._others = np.maximum(np.bincount(self.group, minlength=NO_GROUP + 1) - 1, 1)
        self.health: Whole = np.full(PEOPLE, int(Health.SUSCEPTIBLE))
        self._sick = np.zeros(PEOPLE, dtype=bool)
        self._ends: Whole = np.full(PEOPLE, _NEVER)
        self._imported = imported
        self.part = 0
        self.infections = 0
        self._infect(random.choice(PEOPLE, first_cases, replace=False))

    def shares(self) -> NDArray[np.float64]:
        """Shares of the town: neither ill nor immune, infected, critical, recovered, dead."""
        counts = np.bincount(self.health, minlength=len(Health))
        counts[Health.LATENT] += counts[Health.INFECTIOUS]
        return np.delete(counts, Health.INFECTIOUS) / PEOPLE

    @property
    def day(self) -> int:
        """Days that have passed."""
        return self.part // len(PARTS)

    def live(self, parts: int, stage: int) -> None:
        """Let so many parts of a day, 8 hours each, pass under a stage, 0 to 4."""
        for _ in range(parts):
            infected = self._infected(STAGES[stage])
            self.part += 1
            self._progress()
            self._infect(infected)

    def _households(self) -> Whole:
        """Household of each person; every one has somebody who is not a child."""
        order = np.argsort(self.age == 0, kind="stable")
        places = self._random.integers(HOUSEHOLDS, size=PEOPLE)
        places[:HOUSEHOLDS] = np.arange(HOUSEHOLDS)
        household: Whole = np.empty(PEOPLE, dtype=np.int64)
        household[order] = places
        return household

    def _infected(self, stage: Stage) -> Whole:
        """Who is infected in this part of the day."""
        spreading = np.flatnonzero(self.health == Health.INFECTIOUS)
        infected = np.empty(0, dtype=np.int64)
        if spreading.size:
            well = np.flatnonzero(self.health == Health.SUSCEPTIBLE)
            rates = self._rates(spreading, well, stage)
            infected = well[self._random.random(well.size) < -np.expm1(-rates)]
        if self._random.random() < self._imported / len(PARTS):
            traveller = self._random.integers(PEOPLE)
            if self.health[traveller] == Health.SUSCEPTIBLE:
                infected = np.union1d(infected, traveller)
        return infected

    def _rates(self, spreading: Whole, well: Whole, stage: Stage) -> NDArray[np.float64]:
        """Rate of infection of each who is well, in this part of the day."""
        part = self.part % len(PARTS)
        goes_out = np.where(self._sick[spreading], stage.sick, 1.0)
        if part == DAY:
            group = np.bincount(self.group[spreading], goes_out, NO_GROUP + 1) / self._others
            group[:CLASSES] *= stage.school
            group[CLASSES:] *= stage.work
            group[NO_GROUP] = 0.0
            rates = (IN_GROUP * group[self.group[well]]).astype(np.float64)
        else:
            home = np.bincount(self.household[spreading], minlength=HOUSEHOLDS)
            rates = (0.5 * AT_HOME * home[self.household[well]]).astype(np.float64)
        if part == EVENING:
            rates += IN_TOWN * stage.town * float(goes_out.sum()) / PEOPLE
        contagious: NDArray[np.float64] = rates * (VARIANT if self.day >= self.variant_day else 1.0)
        return contagious

    def _infect(self, people: Whole) -> None:
        self.infections += len(people)
        for person in people:
            self._enter(person, Health.LATENT)

    def _progress(self) -> None:
        """Bring those whose state ends now into their next one."""
        beds_left = BEDS - np.count_nonzero(self.health == Health.CRITICAL)
        for person in np.flatnonzero(self._ends == self.part):
            age, was = self.age[person], self.health[person]
            if was == Health.LATENT:
                self._sick[person] = self._random.random() < SYMPTOMS[age]
                self._enter(person, Health.INFECTIOUS)
            elif was == Health.INFECTIOUS:
                worse = self._random.random() < CRITICAL[age]
                self._enter(person, Health.CRITICAL if worse else Health.RECOVERED)
            elif was == Health.CRITICAL:
                chance = DEATH[age] * (WITHOUT_BED if beds_left < 0 else 1.0)
                dies = self._random.random() < chance
                self._enter(person, Health.DEAD if dies else Health.RECOVERED)
            elif was == Health.RECOVERED:
                self._enter(person, Health.SUSCEPTIBLE)

    def _enter(self, person: np.int64, state: Health) -> None:
        self.health[person] = state
        ends = _NEVER
        if state in DAYS:
            fewest, most = (days * len(PARTS) for days in DAYS[state])
            ends = self.part + int(self._random.integers(fewest, most, endpoint=True))
        self._ends[person] = ends
