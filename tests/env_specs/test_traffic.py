"""The highway merge: its processes, its slots, what its numbers mean, and how it refuses."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from shipped import needs_sumo

from env_specs._traffic import simulation
from env_specs._traffic.world import ENV_ID, TrafficMerge
from promptpo.spec import load_spec

pytestmark = [needs_sumo, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder_of_simulations(tmp_path, monkeypatch):
    """Where simulations make their folders, which those that a test kills cannot remove."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def make_env():
    opened = []

    def make():
        opened.append(TrafficMerge())
        return opened[-1]

    yield make
    for env in opened:
        env.close()


def columns(observation):
    """Present, speed, leader's gap and difference, follower's gap and difference: rows of 10."""
    return observation[:60].reshape(6, 10)


def play(env, seed, steps, action):
    observations = [env.reset(seed=seed)[0]]
    observations += [env.step(action)[0] for _ in range(steps)]
    return np.array(observations)


def in_a_process_of_its_own(script):
    """libsumo holds one simulation per process: what a script prints that has one to itself."""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def gone(pid):
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not Path(f"/proc/{pid}").exists()


def test_environments_in_lockstep_play_what_each_plays_alone(make_env):
    action = np.array([0.3, -0.4, 0.5, 0.0, 0.1, -0.2, 0.6, 0.0, 0.2, -0.1])
    together = [make_env() for _ in range(3)]
    rows = [[env.reset(seed=seed)[0]] for seed, env in enumerate(together)]
    for _ in range(60):
        for env, row in zip(together, rows, strict=True):
            row.append(env.step(action)[0])
    alone = make_env()
    for seed in (2, 0, 1):
        assert np.array_equal(rows[seed], play(alone, seed, 60, action))


def test_a_free_vehicle_changes_its_speed_by_the_acceleration_asked_for(make_env):
    env, rng, checked = make_env(), np.random.default_rng(0), 0
    for seed in range(3):
        before = columns(env.reset(seed=seed)[0])
        for _ in range(400):
            action = rng.uniform(-1.5, 1.5, 10)
            after = columns(env.step(action)[0])
            free = (before[0] == 1) & (after[0] == 1) & (before[2] == 100) & (before[1] > 1)
            change = np.minimum(before[1] + 0.2 * action, 30.0) - before[1]
            assert after[1][free] - before[1][free] == pytest.approx(change[free])
            checked += free.sum()
            before = after
    assert checked > 20


def test_an_empty_slot_holds_zeros_and_moves_nothing(make_env):
    first, second = make_env(), make_env()
    start = first.reset(seed=0)[0]
    second.reset(seed=0)
    empty = columns(start)[0] == 0
    assert empty.any()
    assert not columns(start)[:, empty].any()
    zero, reward = first.step(np.zeros(10))[:2]
    pushed, less = second.step(np.where(empty, 1.5, 0.0))[:2]
    assert np.array_equal(zero, pushed)
    assert reward - less == pytest.approx(1.5 * empty.sum() / 10)


def test_actions_are_clipped_and_vehicles_that_stop_hold_the_ramp(make_env):
    env = make_env()
    clipped, asked = (play(env, 0, 20, np.full(10, size)) for size in (1.5, 40.0))
    assert np.array_equal(clipped, asked)

    def late_mean_speed(action):
        return np.mean([play(env, seed, 500, np.full(10, action))[-100:, 60] for seed in range(4)])

    assert late_mean_speed(-1.5) > late_mean_speed(0.0) + 1.0


class Parking:
    """Park the first vehicle that enters, at the beginning of the ramp; hold the others' speed."""

    def __init__(self):
        self.before = self.parked = None

    def __call__(self, raw):
        present, speed = raw[:10] > 0, raw[10:20]
        if self.parked is None and self.before is not None and (present & ~self.before).any():
            self.parked = int((present & ~self.before).argmax())
        self.before = present
        action = np.zeros(10)
        if self.parked is not None:
            action[self.parked] = -min(speed[self.parked] / 0.2, 1.5)
        return action


def holding_a_headway(raw):
    """Keep 1.5 s behind the leader, gently, and drive at 20 m/s where there is none."""
    present, speed, gap = raw[:10] > 0, raw[10:20], raw[20:30]
    missing = np.minimum(gap / 1.5, 20.0) - speed
    return np.where(present & (abs(missing) > 1.0), np.clip(0.3 * missing, -0.2, 0.2), 0.0)


def test_parking_a_vehicle_on_the_ramp_does_not_pay(make_env):
    env = make_env()

    def mean_return(policy):
        returns = []
        for seed in range(3):
            raw, act, total = env.reset(seed=seed)[0], policy(), 0.0
            for _ in range(500):
                raw, reward, *_ = env.step(act(raw))
                total += reward
            returns.append(total)
        return np.mean(returns)

    parked = mean_return(Parking)
    assert parked < mean_return(lambda: holding_a_headway) - 10
    assert parked < mean_return(lambda: lambda raw: np.zeros(10)) - 10
    assert parked < mean_return(lambda: load_spec("traffic").expert(env)) - 20


def test_a_vehicle_keeps_its_slot_until_it_leaves_and_gaps_are_from_bumper_to_bumper():
    script = """
from env_specs._traffic.simulation import Simulation
simulation = Simulation()
import libsumo
vehicle = libsumo.vehicle
checked, entered, slots = 0, [], [None] * 10
for seed in range(3):
    reply = simulation.reset(seed)
    slots = list(simulation._slots)
    for _ in range(500):
        reply = simulation.step([0.1] * 10)
        for old, new in zip(slots, simulation._slots):
            assert new == old or old is None or old not in vehicle.getIDList()
        slots = list(simulation._slots)
        for slot, name in enumerate(slots):
            if name is None:
                continue
            gap, faster = reply[1 + 20 + slot], reply[1 + 30 + slot]
            lane, place = vehicle.getLaneID(name), vehicle.getLanePosition(name)
            ahead = [
                (vehicle.getLanePosition(other) - vehicle.getLength(other) - place, other)
                for other in vehicle.getIDList()
                if vehicle.getLaneID(other) == lane and vehicle.getLanePosition(other) > place
            ]
            if ahead:
                true_gap, leader = min(ahead)
                difference = vehicle.getSpeed(leader) - vehicle.getSpeed(name)
                assert abs(gap - true_gap) < 1e-6 and abs(faster - difference) < 1e-9
                checked += 1
print(checked)
"""
    assert int(in_a_process_of_its_own(script)) > 500


def test_a_crash_gives_no_reward_and_shows():
    script = """
from env_specs._traffic import simulation as sumo
sumo._SPEED_MODE = 0  # vehicles that do not look ahead
simulation = sumo.Simulation()
simulation.reset(0)
for _ in range(500):
    reply = simulation.step([1.5] * 10)
    if reply[-1]:
        print(reply[0], reply[-1])
        break
"""
    assert in_a_process_of_its_own(script) == "0.0 1.0\n"


def test_closing_leaves_neither_process_nor_files(make_env, folder_of_simulations):
    for killed in (False, True):
        env = make_env()
        env.reset(seed=0)
        pid = env._process.pid
        if killed:
            env._process.kill()
        env.close()
        assert gone(pid)
        assert list(folder_of_simulations.iterdir()) == []


def test_a_killed_owner_takes_the_simulation_with_it(folder_of_simulations):
    script = """
import os, sys, time
from env_specs._traffic.world import TrafficMerge
env = TrafficMerge()
env.reset(seed=0)
print(env._process.pid, flush=True)
time.sleep(100)
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as owner:
        pid = int(owner.stdout.readline())
        os.kill(owner.pid, signal.SIGKILL)
    assert gone(pid)
    assert list(folder_of_simulations.iterdir()) == []


def test_a_simulation_that_dies_is_an_error_of_one_line(make_env):
    env = make_env()
    env.reset(seed=0)
    env._process.kill()
    with pytest.raises(RuntimeError, match=r"^the SUMO process ended: no message$"):
        env.step(np.zeros(10))
    env = make_env()
    words = "ImportError: libX11.so.6: cannot open shared object file: No such file"
    env._complaints.write(words.encode())
    env._complaints.flush()
    env._process.kill()
    with pytest.raises(RuntimeError, match=r"run: apt install libx11-6 .*libatomic1$"):
        env.reset(seed=0)


def test_a_picture_shows_the_controlled_vehicles_and_drawing_changes_nothing(make_env):
    drawn, blind = make_env(), make_env()
    assert blind.render() is None
    drawn.render_mode = "rgb_array"
    for env in (drawn, blind):
        env.reset(seed=0)
    for _ in range(100):
        picture = drawn.render()
        one, other = drawn.step(np.zeros(10))[0], blind.step(np.zeros(10))[0]
        assert np.array_equal(one, other)
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
    assert columns(one)[0].any()
    assert (picture == 255).all(axis=2).sum() > 20


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized space.*:UserWarning")
@pytest.mark.filterwarnings("ignore:.*alternative render modes.*:UserWarning")
@pytest.mark.filterwarnings("ignore:.*not be instantiated.*:UserWarning")
def test_gymnasium_accepts_it_and_knows_it(make_env):
    check_env(make_env())
    env = gymnasium.make(ENV_ID)
    assert env.observation_space.shape == (simulation.OBSERVATION_SIZE,)
    env.close()
