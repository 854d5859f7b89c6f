"""The steps that a run counts are those that its environment was stepped, in every stream."""

import pytest
from own_cartpole import own_cartpole
from scripted import BAD, GOOD, policy, replies, run, run_small

#: Plays some steps, then raises: a failure that costs steps.
LATE = policy("self.t += 1\n        return 0 if self.t < 6 else 1 / 0", setup="self.t = 0")

#: Steps that try the environment before a run begins.
TRIED = 1

MAKE = '    return gymnasium.make("CartPole-v1", disable_env_checker=True)\n'
COUNTING = """
    class Counting(gymnasium.Wrapper):
        def step(self, action):
            with open({file!r}, "ab", buffering=0) as file:
                file.write(b".")
            return super().step(action)

    return Counting(gymnasium.make("CartPole-v1", disable_env_checker=True))
"""


@pytest.fixture
def counting(tmp_path):
    """CartPole that writes a byte to a file at each of its steps: the spec and the file."""
    file = tmp_path / "steps"
    spec = tmp_path / "counting.py"
    spec.write_text(own_cartpole((MAKE, COUNTING.format(file=str(file)))))
    return str(spec), file


def check_counted(result, file):
    steps = result.usage.steps
    assert {name for name, count in steps.items() if count} == {"search", "selection", "test"}
    assert sum(steps.values()) == file.stat().st_size - TRIED


def test_of_random_search(counting, tmp_path):
    spec, file = counting
    small = {"method": "random-search", "rounds": 3, "candidates": 6, "workers": 2}
    result, _ = run_small(tmp_path, spec, **small, episodes=12, early_stop=False)
    check_counted(result, file)


def test_of_promptpo(counting, tmp_path):
    spec, file = counting
    script = replies([BAD, LATE], [GOOD, BAD])
    result, _ = run(tmp_path, script, spec=spec, probe=2, episodes="auto")
    check_counted(result, file)
