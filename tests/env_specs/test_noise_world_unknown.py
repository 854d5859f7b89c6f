"""NoiseWorld with labels of unknown meaning, and a policy that learns it within its life."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from env_specs._noise_world.unknown import KINDS, SIDE, UnknownLabels
from promptpo.prompts.task import task_text
from promptpo.rollout import LocalExecutor, Settings, episode_seeds, evaluate
from promptpo.run.settings import build
from promptpo.spec import Task, load_spec

SPEC = load_spec("noise_world_unknown")
LEARNER = (Path(__file__).parent / "data" / "learns_labels.py").read_text(encoding="utf-8")


def kinds_of(env):
    """What each label means, read off the cells of a board that show it."""
    found = dict(zip(env.labels.flat, env.board.labels.flat, strict=True))
    return {label: kind for label, kind in found.items() if label}


def test_labels_mean_the_same_through_a_life_and_something_else_in_the_next():
    task = Task.open(SPEC)
    lives = []
    for start in (0, 10, 20):
        means = {}
        for seed in range(start, start + 10):
            task.reset(seed)
            for label, kind in kinds_of(task.env).items():
                assert means.setdefault(label, kind) == kind
        assert sorted(means.values()) == sorted(KINDS)
        lives.append(means)
    assert lives[0] != lives[1] != lives[2]


def test_how_often_a_label_occurs_tells_little_of_what_it_means():
    env = UnknownLabels()
    counts = dict.fromkeys(KINDS, 0)
    for life in range(100):
        env.new_life(life)
        env.reset(seed=life)
        for kind in env.board.labels.flat[1:-1]:
            counts[kind] += 1
    cells = 100 * (SIDE**2 - 2)
    for kind, count in counts.items():
        assert count / cells == pytest.approx(KINDS.count(kind) / len(KINDS), abs=0.08)


def test_the_prompt_tells_what_a_life_is_and_not_what_the_labels_mean():
    text = task_text(SPEC, build({}))
    assert "One `Policy` object lives through the 10 episodes of an evaluation" in text
    assert "`reset(self)`" in text
    assert "stays the same through all of its\nepisodes" in text
    assert "UnknownLabels" not in text
    alone = task_text(SPEC, build({"policy_lifetime": "episode"}))
    assert "A new `Policy` object is made for every episode." in alone


@pytest.mark.slow
def test_only_a_policy_that_learns_within_its_life_solves_it():
    seeds = episode_seeds(0, "test", 200, life=10)
    with contextlib.closing(LocalExecutor(Settings(SPEC.ref), 1)) as executor:
        learned, alone = (
            asyncio.run(evaluate(executor, LEARNER, "test", seeds, life=life))[0]
            for life in (10, 1)
        )
    assert learned.score.success_rate > 0.75
    assert alone.score.success_rate < 0.5
    assert alone.score.mean_return < -36 < 80 < learned.return_interval.low
    curve = learned.life_curve
    assert len(curve) == 10
    assert curve[0].interval.high < 60
    assert min(point.interval.low for point in curve[6:]) > 120
