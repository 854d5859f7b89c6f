"""The pandemic task: its town's epidemiology, and the rules of its world."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from env_specs._pandemic_town import (
    BEDS,
    CLASSES,
    HOUSEHOLDS,
    NO_GROUP,
    PEOPLE,
    VARIANT_DAYS,
    Health,
    Town,
)
from env_specs._pandemic_world import CRITICAL, DEAD, ENV_ID, INFECTED, NONE, RECOVERED, reward_of
from promptpo.spec import Task, load_spec

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


def shares_over(place, days, stage):
    """Shares at the end of each day, shape (days, 5)."""
    rows = []
    for _ in range(days):
        place.live(1, stage)
        rows.append(place.shares())
    return np.array(rows)


@pytest.mark.parametrize(
    ("stage", "low", "high"),
    [(0, 1.9, 2.6), (1, 1.3, 1.8), (2, 1.0, 1.45), (3, 0.65, 1.0), (4, 0.4, 0.85)],
)
def test_each_stage_has_the_stated_reproduction_number(stage, low, high):
    assert low < secondary_cases(stage, 150) < high


def test_the_variant_is_more_contagious():
    assert secondary_cases(0, 100, variant_day=0) > 1.2 * secondary_cases(0, 100)


def test_the_variant_comes_within_its_days_and_differs_between_towns():
    days = {Town(seed).variant_day for seed in range(200)}
    assert VARIANT_DAYS[0] <= min(days) < max(days) <= VARIANT_DAYS[1]


def test_without_measures_most_of_the_town_is_infected_once():
    sizes = [town(seed) for seed in range(20)]
    for place in sizes:
        place.live(150, 0)
    shares = [place.infections / PEOPLE for place in sizes]
    # A well-mixed town would have 0.85 at a reproduction number of 2.2; households make it less.
    assert 0.6 < np.mean(shares) < 0.9


@pytest.mark.parametrize("variant_day", [0, NEVER])
def test_the_strictest_stage_ends_outbreaks(variant_day):
    for seed in range(10):
        place = town(seed, first_cases=20, variant_day=variant_day)
        rows = shares_over(place, 250, 4)
        assert rows[-1, INFECTED] == 0
        assert place.infections < 0.3 * PEOPLE


def test_nobody_is_lost_and_nobody_comes_back_from_the_dead():
    rows = shares_over(Town(3), 900, 0)
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
            place.live(90, 4)
            dead += np.count_nonzero(place.health == Health.DEAD)
            infections += place.infections
        return dead / infections

    assert share_of_dead(400) > 1.2 * share_of_dead(2 * BEDS)


def test_travellers_bring_the_disease_back():
    place = Town(1, first_cases=0, imported=0.05)
    place.live(200, 4)
    assert place.infections >= 3


def test_people_live_and_work_where_they_belong():
    place = Town(7)
    assert np.bincount(place.household, minlength=HOUSEHOLDS).sum() == PEOPLE
    for home in range(HOUSEHOLDS):
        assert (place.age[place.household == home] > 0).any(), "children do not live alone"
    assert (place.group[place.age == 0] < CLASSES).all()
    assert (place.group[place.age == 2] == NO_GROUP).all()


def play(task, seed, actions):
    """Observations, shape (steps + 1, 16), and rewards of an episode."""
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


def test_a_step_is_eight_days_and_three_steps_are_remembered():
    task = Task.open(load_spec("pandemic"))
    seen, _ = play(task, 5, [1, 1, 1, 1])
    arrays = seen[:, :15].reshape(-1, 5, 3)
    assert task.info["day"] == 32
    assert (arrays[0, :, 0] == arrays[0, :, 2]).all()
    assert arrays[0, :, 2].tolist() == [0.99, 0.01, 0, 0, 0]
    assert (arrays[4, :, 0] == arrays[2, :, 2]).all()
    assert (arrays[4, :, 1] == arrays[3, :, 2]).all()


def test_same_seed_same_epidemic_whatever_ran_before():
    task = Task.open(load_spec("pandemic"))
    actions = [2, 1, 1, 0, 1, 2] * 10
    first, _ = play(task, 11, actions)
    play(task, 12, actions[:7])
    again, _ = play(task, 11, actions)
    other, _ = play(task, 13, actions)
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize(
    ("before", "stage", "ill", "expected"),
    [
        (0, 0, 0.0, 0.0),
        (4, 4, 0.0, -0.1),
        (1, 0, 0.0, -0.02),
        (0, 1, 0.0, -10.0 - 0.0125 - 0.02),
        (0, 1, 0.0025, -2.5 - 0.0125 - 0.02),
        (0, 1, 0.006, -0.0125 - 0.02),
    ],
)
def test_what_the_stage_costs(before, stage, ill, expected):
    known = np.array([1.0 - ill, ill, 0.0, 0.0, 0.0])
    assert reward_of(before, stage, known, np.zeros(5)) == pytest.approx(expected)


def test_what_the_critical_cost():
    shares = np.zeros(5)
    shares[CRITICAL] = 0.03
    assert reward_of(2, 2, np.zeros(5), shares) == pytest.approx(-0.3 - 0.1 * 0.5**1.5)


def test_the_reference_policy_beats_doing_nothing_and_any_fixed_stage():
    task = Task.open(load_spec("pandemic"))

    def mean_return(choose):
        totals = []
        for seed in range(4):
            task.reset(seed)
            act, total = choose(task), 0.0
            for _ in range(192):
                total += task.step(np.array([float(act(task.raw))]))[1]
            totals.append(total)
        return np.mean(totals)

    def held(stage):
        # Raised as soon as nobody resents it, and kept.
        return lambda task: lambda raw: 1 + (raw[15] < stage and raw[5] + raw[8] + raw[14] > 0.005)

    reference = mean_return(lambda task: task.spec.expert(task.env))
    assert reference > max(mean_return(held(stage)) for stage in range(5)) + 1


def test_gymnasium_makes_the_same_environment_and_approves_of_it():
    env = gymnasium.make(ENV_ID)
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec.max_episode_steps == load_spec("pandemic").horizon
