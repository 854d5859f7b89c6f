"""What a failing check of the reward shows: the worst step, and what to do, by how it fails."""

import re

import pytest

from promptpo.checks.play import play
from promptpo.checks.reward import check_reward
from promptpo.spec import Task, load_spec

BODY = "return float(action[0])"


@pytest.fixture
def finding(walk):
    """Check the reward only, of the spec with another body of reward() and other texts."""

    def check(body, *others):
        task = Task.open(load_spec(walk((BODY, body), *others)))
        (found,) = check_reward(play(task, 200))
        task.close()
        return found

    return check


def test_the_worst_step_is_shown_with_the_fields_that_the_reward_reads(finding):
    found = finding("return 3 * max(0.0, float(next_observation.last_step[0]))")
    assert re.fullmatch(
        r"largest deviation 2 on 200 transitions, \d+ of them beyond the 1e-09 allowed; correct "
        r"reward\(\) at \S+/walk\.py:22",
        found.detail,
    )
    head, names, field, action, paid, given, off = found.more
    assert re.fullmatch(r"the worst, step 1 of seed 3, with the expert:", head)
    assert names.split() == ["field", "observation", "next_observation"]
    assert re.fullmatch(r"  last_step  \[0\] +\[1\]", field)
    assert re.fullmatch(r"  action +\[1\]", action)
    assert re.fullmatch(r"  the environment paid +1", paid)
    assert re.fullmatch(r"  reward\(\) gives +3", given)
    assert re.fullmatch(r"  difference +2", off)


def test_a_field_that_a_method_of_the_observation_reads_is_shown(finding):
    method = (
        '"0 in the middle")\n\n    def far(self):\n        return self.position > 1\n\n    x = 1\n'
    )
    found = finding("return float(observation.far())", ('"0 in the middle")\n', method))
    assert [line.split()[0] for line in found.more[1:4]] == ["field", "position", "action"]


def test_what_only_the_reward_gets_is_shown(finding):
    found = finding(
        "return float(action[0]) + far",
        ("next_observation):", "next_observation, *, far):"),
        ("reward=reward,", 'reward=reward, reward_inputs=lambda info: {"far": 2},'),
    )
    assert [line.split() for line in found.more if "far=" in line] == [["far=", "2"]]


def pays(reward, terminated="False"):
    """The environment pays something else; ``old`` is what was seen before the step."""
    return (
        ("        self.seen = np.array([self.seen[0] +", OLD),
        (
            "return self.seen.copy(), action[0], False",
            f"return self.seen.copy(), {reward}, {terminated}",
        ),
    )


OLD = "        old = self.seen\n        self.seen = np.array([self.seen[0] +"

CAUSES = {
    "factor": ("2 * float(action[0])", (), "pays 0.5 times what reward() gives"),
    "constant": ("float(action[0]) + 0.25", (), "pays -0.25 more, on every transition"),
    "float32": ("float(np.float32(action[0]))", (), "state reward_tolerance=1e-07"),
    "end": (
        "float(action[0])",
        pays("action[0] + 5 * (self.seen[0] > 6)", terminated="self.seen[0] > 6"),
        "only steps with which an episode terminates",
    ),
    "after": (
        "observation.position**2",
        pays("self.seen[0] ** 2"),
        "with next_observation in place of observation",
    ),
    "before": (
        "next_observation.position**2",
        pays("old[0] ** 2"),
        "with observation in place of next_observation",
    ),
    "exchanged": (
        "observation.position - next_observation.position ** 2",
        pays("self.seen[0] - old[0] ** 2"),
        "with observation and next_observation exchanged",
    ),
}


@pytest.mark.parametrize("case", CAUSES)
def test_a_simple_cause_is_named(finding, case):
    formula, others, words = CAUSES[case]
    assert words in finding(f"return {formula}", *others).more[-1]


@pytest.mark.parametrize(
    "body",
    [
        "...",
        "pass",
        "return None",
        'return float("nan")',
        "return np.nan",
        'raise NotImplementedError("later")',
    ],
)
def test_a_body_that_is_still_to_be_written_is_told_as_such(finding, body):
    found = finding(body)
    shown = body.replace('"', "'")
    assert f"walk.py:22 is not written yet: its body is `{shown}`; compute in it" in found.detail
    assert found.more == ()


@pytest.mark.parametrize(
    ("body", "words", "remedy"),
    [
        (
            "return float(np.log(action[0]))",
            r"gives nan on \d+ of 200 transitions; invalid value encountered in log \(\S+:24\)",
            "treat that case apart",
        ),
        (
            "return float(action[0]) + math.inf - math.inf",
            r"gives nan on 200 of 200 transitions",
            "treat apart where its arithmetic is undefined, as inf - inf is",
        ),
        (
            "if action[0] > 0.5:\n        return float(action[0])",
            r"returns None, as it ends without a return \(step \d+ of seed 0, with random",
            "end every way through it with: return a number",
        ),
        (
            "if action[0] > 0.5:\n        return float(action[0])\n    raise NotImplementedError",
            r"raises NotImplementedError \(\S+walk\.py:26\) \(step 1 of seed 0",
            "write what the environment pays in this case, too",
        ),
        (
            "return float(observation.speed)",
            r"raises AttributeError: .*'speed' \(\S+walk\.py:24\)",
            "correct it",
        ),
        ("return np.zeros(3)", r"returns ndarray of shape \(3,\) as the reward", "make it a float"),
        ('return "much"', "returns str as the reward, not a number", "make it a float"),
    ],
    ids=["nan", "inf - inf", "none", "case", "raises", "array", "text"],
)
def test_a_function_that_gives_no_number_is_told_with_its_step_and_a_remedy(
    finding, body, words, remedy
):
    body = body.replace("math.inf", 'float("inf")')
    found = finding(body)
    assert re.search(words, found.detail)
    assert found.detail.endswith(remedy)
    assert any(line.split()[0] == "action" for line in found.more)


def test_inputs_that_the_environment_does_not_tell_are_named(finding):
    found = finding(
        "return far",
        ("next_observation):", "next_observation, *, far):"),
        ("reward=reward,", 'reward=reward, reward_inputs=lambda info: {"far": info["far"]},'),
    )
    assert re.search(r"gets no inputs: KeyError: 'far' \(step 1 of", found.detail)
    assert re.search(r"correct reward_inputs\(info\) at \S+:\d+: info holds 'right'$", found.detail)
