"""A random and an expert's policy on the shipped specs, played as a run plays them.

Of those that are alike one or a few are played; EVERY_MEMBER=1 plays all of them.
"""

import numpy as np
import pytest
from shipped import kinds, members

import sandbox
from promptpo.rollout.jobs import PlayJob, Settings
from promptpo.rollout.worker import Worker

#: Meta-World's scripted policies ask for more than the bounds, and warn of it.
pytestmark = pytest.mark.filterwarnings("ignore:Constant:UserWarning")

SEEDS = (40, 41)

#: Acts as it was told to, whatever it sees: an expert's actions, found outside the sandbox.
PLAYBACK = """
import numpy as np
ACTIONS = {actions}
class Policy:
    def __init__(self):
        self.step = 0
    def act(self, obs):
        self.step += 1
        return np.array(ACTIONS[self.step - 1])
"""

POLICY = """
import numpy as np
class Policy:
    def act(self, obs):
        return {action}
"""


def random_action(task) -> str:
    space = task.env.action_space
    if isinstance(task.action, sandbox.Discrete):
        return f"np.random.randint({task.action.start}, {task.action.start + task.action.n})"
    if isinstance(task.action, sandbox.MultiDiscrete):
        return f"np.random.randint({[int(n) for n in space.nvec]})"
    low, high = (np.asarray(b, np.float64).tolist() for b in (space.low, space.high))
    return f"np.random.uniform({low}, {high})"


@pytest.fixture(scope="module", params=[*kinds(), *members()[::2]])
def worker(request):
    worker = Worker(Settings(request.param, episode_timeout=120.0))
    yield worker
    for task in worker.tasks:
        task.close()
    worker.host.close()


@pytest.mark.slow
def test_a_policy_plays_whole_episodes(worker):
    (task,) = worker.open_tasks(1)
    run = worker.play(PlayJob(POLICY.format(action=random_action(task)), SEEDS))
    assert run.error is None
    assert [result.seed for result in run.results] == list(SEEDS)
    assert all(0 < result.length <= task.horizon for result in run.results)
    assert not any(run.clipped)


@pytest.mark.slow
def test_an_experts_actions_bring_its_return(worker):
    (task,) = worker.open_tasks(1)
    if task.spec.expert is None:
        assert "expert" not in task.spec.references
        return
    task.reset(SEEDS[0])
    act, actions, total, over = task.spec.expert(task.env), [], 0.0, False
    while not over:
        row = np.asarray(act(task.raw), np.float64).reshape(-1)
        _, reward, terminated, truncated, _ = task.step(row)
        actions.append(row if task.env.action_space.shape else row[0])
        total += reward
        over = terminated or truncated
    source = PLAYBACK.format(actions=np.array(actions).tolist())
    run = worker.play(PlayJob(source, SEEDS[:1]))
    assert run.error is None
    assert [result.return_ for result in run.results] == [total]
