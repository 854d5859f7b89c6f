"""Actions of an expert, or random ones, on the shipped specs, played as a run plays them."""

import numpy as np
import pytest
from shipped import kinds, members

from promptpo.rollout.jobs import PlayJob, Settings
from promptpo.rollout.worker import Worker
from promptpo.spec.baselines import random_actions, spec_expert

#: Acts as it was told to, whatever it sees: actions that were chosen outside the sandbox.
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Constant:UserWarning")  # of Meta-World's scripted policies
@pytest.mark.parametrize("spec", [*kinds(), *members()[::6]])
def test_the_same_actions_bring_the_same_return_in_the_sandbox(spec):
    worker = Worker(Settings(spec, episode_timeout=120.0))
    (task,) = worker.open_tasks(1)
    actions, total, over = [], 0.0, False
    task.reset(40)
    act = (spec_expert if task.spec.expert else random_actions)(task, 40)
    while not over:
        row = np.asarray(act(task.raw), np.float64).reshape(-1)
        _, reward, terminated, truncated, _ = task.step(row)
        actions.append(row if task.env.action_space.shape else row[0])
        total += reward
        over = terminated or truncated
    run = worker.play(PlayJob(PLAYBACK.format(actions=np.array(actions).tolist()), (40,)))
    assert run.error is None
    assert [result.return_ for result in run.results] == [total]
    task.close()
    worker.host.close()
