"""The sources that the builtin synthesizer writes: for all kinds of spaces, in the real sandbox."""

import numpy as np
import pytest

import sandbox
from promptpo.builtin import Synthesizer
from promptpo.llm.extraction import extract_code
from promptpo.llm.messages import Reply
from promptpo.policies import Actions
from promptpo.policies.constants import tunable
from promptpo.spec import field, layout, standalone_source
from promptpo.types import Key


class Plain:
    """Numbers of all kinds."""

    angle: float = field(unit="rad", doc="without bounds")
    steps: int = field(doc="a whole number")
    down: bool = field(doc="a switch")


class Goal:
    """A place, a goal and an error."""

    position: np.ndarray = field(shape=(2,), unit="m", doc="where it is")
    goal_position: np.ndarray = field(shape=(2,), unit="m", low=-1.0, high=1.0, doc="where to go")
    tip_offset: np.ndarray = field(shape=(2,), unit="m", doc="how far")


class Cells:
    """Whole numbers with bounds."""

    row: int = field(low=-1, high=1, doc="row")
    column: int = field(low=5, high=6, doc="column")
    open: bool = field(doc="a door")


class Machine:
    """Joints, and a matrix."""

    pitch: float = field(unit="rad", doc="of the body")
    joint_angles: np.ndarray = field(shape=(2,), unit="rad", doc="of the joints")
    joint_velocities: np.ndarray = field(shape=(2,), unit="rad/s", low=-1e9, high=1e9, doc="rates")
    forces: np.ndarray = field(shape=(5, 6), doc="more than can be read")


class Hostile:
    """Names that a source has in use itself."""

    tunable: float = field(doc="the word of the tuner")
    levels: float = field(doc="a name of the source")
    self: float = field(doc="the policy")
    scores: np.ndarray = field(shape=(1, 1), low=0.0, high=0.0, doc="a range without width")
    goal: np.ndarray = field(shape=(20,), doc="a long goal")
    MIDDLE: np.ndarray = field(shape=(20,), doc="a constant")
    grüße: int = field(doc="beyond ASCII")  # noqa: PLC2401


ACTIONS = {
    "box": Actions((2,), low=(-1.0, 0.0), high=(1.0, 5.0)),
    "unbounded": Actions((1,), low=(-np.inf,), high=(np.inf,)),
    "half_bounded": Actions((2,), low=(0.0, -np.inf), high=(np.inf, 3.0)),
    "number": Actions((), low=(-2.0,), high=(2.0,)),
    "matrix": Actions((2, 3), low=(-1.0,) * 6, high=(1.0,) * 6),
    "two": Actions(counts=(2,), starts=(0,)),
    "shifted": Actions(counts=(3,), starts=(-4,)),
    "one": Actions(counts=(1,), starts=(7,)),
    "parts": Actions((3,), counts=(2, 3, 1), starts=(0, 7, 2)),
}


def synthesizer(observation, actions, **options):
    return Synthesizer(layout(observation), actions, 4, **options)


def space_of(actions):
    """The action space as the sandbox checks it."""
    if not actions.counts:
        return sandbox.Box(actions.shape)
    if actions.shape:
        return sandbox.MultiDiscrete(actions.counts, actions.starts)
    return sandbox.Discrete(actions.counts[0], actions.starts[0])


@pytest.fixture(scope="module")
def host():
    with sandbox.Host() as running:
        yield running


KINDS = {
    Plain: "number unbounded one shifted", Goal: "half_bounded two matrix", Cells: "parts two",
    Machine: "box parts", Hostile: "box parts",
}  # fmt: skip


@pytest.mark.parametrize("observation", KINDS)
def test_sources_act_legally_in_the_sandbox(host, observation):
    size = layout(observation)[-1].stop
    seen = [np.full(size, value) for value in (0.0, 1.0, -3.5)]
    if observation is Cells:
        seen = [np.array([0.0, 5.0, 1.0]), np.array([1.0, 6.0, 0.0])]
    for actions in map(ACTIONS.get, KINDS[observation].split()):
        made = synthesizer(observation, actions)
        interface = sandbox.Interface(size, standalone_source(observation), space_of(actions))
        for number in range(8):
            with host.policy(made.policy(number), interface) as policy:
                policy.begin(number)
                for flat in seen:  # an illegal action raises
                    action = policy.act(flat[0])
                    if not actions.counts:
                        bounded = zip(action, actions.low, actions.high, strict=True)
                        assert all(low <= a <= high for a, low, high in bounded)


@pytest.mark.parametrize("observation", KINDS)
def test_declared_constants_are_within_their_ranges_and_few(observation):
    made = synthesizer(observation, ACTIONS["box"], declared=True)
    found = [tunable(made.policy(number)) for number in range(3)]  # a wrong declaration raises
    assert all(c.declared and c.low <= c.value <= c.high for t in found for c in t.constants)
    assert max(len(t.constants) for t in found) <= 50
    plain = synthesizer(observation, ACTIONS["box"])
    assert [plain.policy(n) for n in range(len(found))] == [t.source for t in found]


def test_structures_follow_from_the_spaces():
    for observation, kind, first in (
        (Plain, "two", "Linear"),
        (Cells, "two", "Table"),
        (Machine, "box", "One"),
        (Goal, "box", "One"),
    ):
        made = synthesizer(observation, ACTIONS[kind])
        for number, word in enumerate((first, "Linear")):
            assert f'class Policy:\n    """{word}' in made.policy(number)
    source = synthesizer(Machine, ACTIONS["box"]).policy(0)
    assert "np.ravel(obs.joint_angles)" in source
    assert "np.ravel(obs.joint_velocities)" in source
    assert "obs.pitch" not in source


def test_replies_depend_on_the_key_alone_and_go_through_the_list():
    made, again = (synthesizer(Plain, ACTIONS["two"]) for _ in range(2))
    keys = [Key(r, c, role="policy") for r in (1, 2, 3) for c in (1, 2, 3, 4)]
    replies = [made.reply(key) for key in keys]
    assert [again.reply(key) for key in reversed(keys)] == replies[::-1]
    assert len(set(replies)) == len(replies)
    assert [extract_code(Reply(r, "builtin"), "Policy") for r in replies[:8]] == [
        made.policy(n) for n in range(8)
    ]
    assert made.reply(Key(1, 2, 1, "repair")) == replies[2]  # the next structure


def test_other_calls_get_a_feedback_class_or_a_line():
    made = synthesizer(Machine, ACTIONS["box"])
    source = extract_code(Reply(made.reply(Key(role="feedback")), "builtin"), "Feedback")
    assert "obs.pitch" in source
    assert made.reply(Key(2, 0, 1, "feedback_repair")) == made.reply(Key(role="feedback"))
    assert "No language model" in made.reply(Key(2, role="reflection"))
