"""The pandemic task: its town's epidemiology, and the rules of its world."""

import numpy as np
import pytest

from env_specs._pandemic import town as model
from env_specs._pandemic.town import (
    BEDS,
    CLASSES,
    DAY,
    EVENING,
    HOUSEHOLDS,
    NIGHT,
    NO_GROUP,
    PEOPLE,
    STAGES,
    Health,
    Town,
)
from env_specs._pandemic.world import (
    CRITICAL,
    DEAD,
    INFECTED,
    NONE,
    RECOVERED,
    PandemicWorld,
    reward_of,
)
from promptpo.spec import Task, load_spec

pytestmark = pytest.mark.slow

NEVER = 10**9


def town(seed, **changes):
    """A town without travellers and without the variant."""
    return Town(seed, **{"imported": 0.0, "variant_day": NEVER, **changes})


def secondary_cases(stage, towns, **changes):
    """Mean number of people whom a first infected person infects in a town that is well."""
    count = 0
    for seed in range(towns):
        place = town(seed, first_cases=1, **changes)
        (first,) = np.flatnonzero(place.health == Health.LATENT)
        while place.health[first] in (Health.LATENT, Health.INFECTIOUS):
            place.live(1, stage)
            # The others are taken out before they can pass it on.
            others = np.flatnonzero(place.health == Health.LATENT)
            place.health[others[others != first]] = Health.DEAD
        count += place.infections - 1
    return count / towns


def live(place, days, stage):
    """Let whole days pass."""
    place.live(3 * days, stage)


def shares_over(place, days, stage):
    """Shares at the end of each day, shape (days, 5)."""
    rows = []
    for _ in range(days):
        live(place, 1, stage)
        rows.append(place.shares())
    return np.array(rows)


def test_stages_have_the_stated_reproduction_numbers_and_the_variant_a_higher_one():
    # Four standard errors about 2.4, 1.6, 1.3, 1.0, 0.8.
    bounds = [(1.9, 2.9), (1.2, 2.0), (0.9, 1.7), (0.7, 1.3), (0.5, 1.1)]
    for stage, (low, high) in enumerate(bounds):
        assert low < secondary_cases(stage, 160) < high
    assert secondary_cases(0, 100, variant_day=0) > 1.2 * secondary_cases(0, 100)


def test_the_strictest_stage_ends_outbreaks():
    for seed in range(20):
        place = town(seed, first_cases=20, variant_day=0 if seed % 2 else NEVER)
        rows = shares_over(place, 250, 4)
        assert rows[-1, INFECTED] == 0
        assert place.infections < 0.3 * PEOPLE


def test_nobody_is_lost_and_nobody_comes_back_from_the_dead():
    rows = shares_over(Town(3), 500, 0)
    assert np.allclose(rows.sum(axis=1), 1.0)
    assert (np.diff(rows[:, DEAD]) >= 0).all()
    assert rows.min() >= 0
    assert 0 < rows[-1, DEAD] < 0.2


def test_immunity_wanes():
    place = town(0)
    rows = shares_over(place, 150, 0)
    assert rows[-1, RECOVERED] > 0.4
    later = shares_over(place, 400, 4)
    assert later[-1, RECOVERED] == 0
    assert later[-1, NONE] + later[-1, DEAD] == pytest.approx(1.0)


def test_a_full_hospital_costs_lives():
    def share_of_dead(wave):
        dead = infections = 0
        for seed in range(30):
            place = town(seed, first_cases=wave)
            live(place, 90, 4)
            dead += np.count_nonzero(place.health == Health.DEAD)
            infections += place.infections
        return dead / infections

    assert share_of_dead(400) > 1.2 * share_of_dead(2 * BEDS)


def test_travellers_bring_the_disease_back():
    place = Town(1, first_cases=0, imported=0.05)
    live(place, 200, 4)
    assert place.infections >= 3


def test_people_live_and_work_where_they_belong():
    place = Town(7)
    assert np.bincount(place.household, minlength=HOUSEHOLDS).sum() == PEOPLE
    for home in range(HOUSEHOLDS):
        assert (place.age[place.household == home] > 0).any(), "children do not live alone"
    assert (place.group[place.age == 0] < CLASSES).all()
    assert (place.group[place.age == 2] == NO_GROUP).all()


def play(task, seed, actions):
    """Observations, shape (steps + 1, 17), and rewards of an episode."""
    observations, rewards = [task.reset(seed)], []
    for action in actions:
        after, reward, *_ = task.step(np.array([float(action)]))
        observations.append(after)
        rewards.append(reward)
    return np.array(observations), np.array(rewards)


def test_an_action_moves_the_stage_by_one_and_within_0_to_4():
    task = Task.open(load_spec("pandemic"))
    seen, _ = play(task, 0, [0, 2, 1, 2, 2, 2, 2, 0, 1])
    assert seen[:, 15].tolist() == [0, 0, 1, 1, 2, 3, 4, 4, 3, 3]


def test_a_step_is_a_day_and_its_entries_are_eight_hours_apart():
    task = Task.open(load_spec("pandemic"))
    seen, _ = play(task, 5, [1] * 40)
    arrays = seen[:, :15].reshape(-1, 5, 3)
    assert arrays[0].T.tolist() == [[0.99, 0.01, 0, 0, 0]] * 3
    assert seen[:, 16].tolist() == list(range(41))
    place = Town(0)
    place.__dict__ = task.env.unwrapped.town.__dict__.copy()
    assert place.part == 3 * 40
    assert (arrays[-1, :, 2] == place.shares()).all()
    changes = np.abs(np.diff(arrays[1:], axis=2)).sum(axis=1)  # within a day, by part
    assert (changes.sum(axis=0) > 0).all()


def test_people_meet_at_home_by_night_in_groups_by_day_and_in_town_in_the_evening():
    place = town(2, first_cases=1)
    (ill,) = np.flatnonzero(place.health == Health.LATENT)
    others = np.delete(np.arange(PEOPLE), ill)
    home = place.household[others] == place.household[ill]
    group = place.group[others] == place.group[ill]
    under = {}
    for place.part in (NIGHT, DAY, EVENING):
        rates = place._rates(np.array([ill]), others, STAGES[0])
        under[place.part] = set(others[rates > 0])
    assert under[NIGHT] == set(others[home])
    assert under[DAY] == set(others[group]) != set()
    assert under[EVENING] == set(others)


def test_what_a_step_costs():
    for before, stage, ill, expected in (
        (0, 0, 0.0, 0.0),
        (4, 4, 0.0, -0.1),
        (1, 0, 0.0, -0.02),
        (0, 1, 0.0, -10.0 - 0.0125 - 0.02),
        (0, 1, 0.0025, -2.5 - 0.0125 - 0.02),
        (0, 1, 0.006, -0.0125 - 0.02),
    ):
        known = np.array([1.0 - ill, ill, 0.0, 0.0, 0.0])
        assert reward_of(before, stage, known, np.zeros((3, 5))) == pytest.approx(expected)
    for column in (CRITICAL, DEAD):  # on average of the day
        shares = np.zeros((3, 5))
        shares[:, column] = [0.02, 0.03, 0.04]
        assert reward_of(2, 2, np.zeros(5), shares) == pytest.approx(-0.3 - 0.1 * 0.5**1.5)


def test_no_death_makes_any_step_cheaper():
    rng = np.random.default_rng(0)
    for _ in range(300):
        shares = rng.dirichlet(np.ones(5), 4)
        before, stage, column = rng.integers(5), rng.integers(5), rng.integers(4)
        more = shares.copy()
        more[:, DEAD] += more[:, column]
        more[:, column] = 0.0
        alive, dead = (reward_of(before, stage, s[0], s[1:]) for s in (shares, more))
        assert dead <= alive + 1e-12


def mean_return(play_out, seeds):
    return np.mean([sum(play_out(seed)) for seed in range(seeds)])


def test_a_deadlier_disease_never_brings_a_higher_return(monkeypatch):
    for policy in (lambda raw: 0, lambda raw: 2 if raw[5] >= 0.01 else 1):

        def rewards(seed, policy=policy):
            world = PandemicWorld()
            raw = world.reset(seed=seed)[0]
            for _ in range(192):
                raw, reward, *_ = world.step(policy(raw))
                yield reward

        returns = []
        for chances in ((1.0, 1.0, 1.0), (0.02, 0.1, 0.3), (0.0, 0.0, 0.0)):
            monkeypatch.setattr(model, "DEATH", chances)
            returns.append(mean_return(rewards, 6))
        assert returns[0] < returns[1] < returns[2]
