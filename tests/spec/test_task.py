"""A live environment behind a spec: real Gymnasium environments of every kind of space."""

import gymnasium
import numpy as np
import pytest

import sandbox
from promptpo.spec import SpecError, Task, load_spec

MAKE = 'raise RuntimeError("never made in these tests")'
FIELDS = """    position: float = field(unit="m", low=-1.0, high=1.0, doc="0 in the middle")
    markers: np.ndarray = field(shape=(2, 2), unit="m", frame="world", doc="corners")
    contacts: int = field(low=0, high=3, doc="how many corners touch")
"""
VECTOR = "    x: np.ndarray = field(shape=(3,))\n"
METHOD = '''
    def distance(self) -> float:
        """Distance from the middle."""
        return abs(self.position)
'''


@pytest.fixture
def open_task(write_spec):
    """Open a task: ``make`` is the body of make(), ``fields`` those of Observation."""
    opened = []

    def build(make: str, fields: str, extra: str = "", before: str = "") -> Task:
        path = write_spec(
            (MAKE, make),
            (FIELDS, fields),
            (METHOD, ""),
            ("horizon=50,", f"horizon=50,\n    {extra}"),
            ("def make():", f"{before}\n\n\ndef make():"),
        )
        opened.append(Task.open(load_spec(path)))
        return opened[-1]

    yield build
    for task in opened:
        task.close()


def gym_make(env_id: str) -> str:
    return f"import gymnasium; return gymnasium.make({env_id!r})"


def test_cartpole_steps_as_gymnasium_does():
    task = Task.open(load_spec("cartpole"))
    env = gymnasium.make("CartPole-v1")
    expected, _ = env.reset(seed=5)
    flat = task.reset(5)
    np.testing.assert_array_equal(flat, expected.astype(np.float64))
    for step in range(500):
        expected, reward, terminated, truncated, _ = env.step(step % 2)
        result = task.step(np.array([float(step % 2)]))
        np.testing.assert_array_equal(result[0], expected.astype(np.float64))
        assert result[1:] == (reward, terminated, truncated, None)
        assert result[0].dtype == np.float64
        if terminated or truncated:
            break
    assert step < 499, "alternating pushes were expected to let the pole fall"


def test_idle_wrappers_are_peeled_but_the_shorter_limit_holds(open_task):
    task = open_task(gym_make("Pendulum-v1"), VECTOR)
    assert task.env is task.env.unwrapped
    for seed in (0, 1):
        task.reset(seed)
        assert [task.step(np.zeros(1))[3] for _ in range(50)] == [False] * 49 + [True]
    make = "import gymnasium; return gymnasium.make('Pendulum-v1', max_episode_steps=7)"
    task = open_task(make, VECTOR)
    task.reset(0)
    assert [task.step(np.zeros(1))[3] for _ in range(7)] == [False] * 6 + [True]


def test_box_actions_are_clipped_and_it_is_told_which(open_task):
    task = open_task(gym_make("Pendulum-v1"), VECTOR)
    assert task.action == sandbox.Box((1,))
    assert task.received(np.array([-9.0])).tolist() == [-2.0]
    after = []
    for push in (2.0, 50.0):
        task.reset(3)
        after.append(task.step(np.array([push]))[0].tolist())
    assert after[0] == after[1]
    actions, clipped = task.decoded(np.array([[2.0], [50.0], [-50.0]]))
    assert ([action.tolist() for action in actions], clipped) == ([[2.0], [2.0], [-2.0]], [1, 2])


def test_numbers_and_tuples_of_them_become_a_row(open_task):
    task = open_task(gym_make("FrozenLake-v1"), "    cell: int = field(low=0, high=15)\n")
    assert task.action == sandbox.Discrete(4)
    assert task.reset(0).tolist() == [0.0]
    fields = "    total: int = field()\n    dealer: int = field()\n    ace: bool = field()\n"
    task = open_task(gym_make("Blackjack-v1"), fields)
    assert task.reset(4).tolist() == [float(part) for part in task.raw]


ODD_ENV = """
class Odd(gymnasium.Env):
    def __init__(self):
        spaces = gymnasium.spaces
        self.observation_space = spaces.Dict(
            b=spaces.Box(-1, 1, (2, 2)), a=spaces.Discrete(5), c=spaces.MultiBinary(2)
        )
        self.action_space = ACTION_SPACE

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.got = None
        return self._seen(), {}

    def step(self, action):
        self.got = action
        return self._seen(), 1.0, False, False, {"good": True}

    def _seen(self):
        return {"c": np.array([1, 0]), "b": np.arange(4.0).reshape(2, 2), "a": 3}
"""
ODD_FIELDS = (
    "    a: int = field()\n    b: np.ndarray = field(shape=(2, 2))\n"
    "    c: np.ndarray = field(shape=(2,))\n"
)


OBSERVE = """def observe(raw, env):
    return {"c": raw["c"], "a": raw["a"], "b": raw["b"]}"""


def odd(action_space: str) -> str:
    return "import gymnasium\n" + ODD_ENV.replace(
        "ACTION_SPACE", f"gymnasium.spaces.{action_space}"
    )


def test_a_dict_is_joined_in_the_order_of_its_space_or_by_the_names_of_observe(open_task):
    task = open_task("return Odd()", ODD_FIELDS, before=odd("Discrete(2)"))
    order = {"a": [3.0], "b": [0.0, 1.0, 2.0, 3.0], "c": [1.0, 0.0]}
    expected = [number for key in task.env.observation_space.spaces for number in order[key]]
    assert task.reset(0).tolist() == expected
    before = odd("Discrete(2)") + "\n\n" + OBSERVE
    task = open_task("return Odd()", ODD_FIELDS, "observe=observe,", before)
    assert task.reset(0).tolist() == [3.0, 0.0, 1.0, 2.0, 3.0, 1.0, 0.0]
    assert task.step(np.array([1.0]))[0].tolist() == [3.0, 0.0, 1.0, 2.0, 3.0, 1.0, 0.0]
    wrong = before.replace('"a": raw["a"]', '"z": 1')
    with pytest.raises(SpecError, match="lacks a and has no field for z"):
        open_task("return Odd()", ODD_FIELDS, "observe=observe,", wrong).reset(0)


#: Space | as the sandbox has it | a row | the environment's action.
SPACES = [
    ("Discrete(3, start=2)", sandbox.Discrete(3, 2), [4.0], 4),
    ("MultiDiscrete([3, 4])", sandbox.MultiDiscrete((3, 4)), [2.0, 3.0], [2, 3]),
    ("MultiBinary(3)", sandbox.MultiDiscrete((2, 2, 2)), [1.0, 0.0, 1.0], [1, 0, 1]),
    ("Box(-1, 1, (2, 2))", sandbox.Box((2, 2)), [0.5, -0.5, 9.0, 0.0], [[0.5, -0.5], [1, 0]]),
    ("Box(-1, 1, ())", sandbox.Box(()), [0.25], 0.25),
]


@pytest.mark.filterwarnings("ignore:.*Casting input:UserWarning")
def test_every_action_space_gets_its_own_dtype_and_shape(open_task):
    for space, described, row, action in SPACES:
        task = open_task("return Odd()", ODD_FIELDS, before=odd(space))
        assert task.action == described
        assert task.action_size == len(row)
        task.reset(0)
        task.step(np.array(row))
        assert task.env.action_space.contains(task.env.got)
        assert np.asarray(task.env.got).tolist() == action
    with pytest.raises(SpecError, match="action space Text is not supported; let make"):
        open_task("return Odd()", ODD_FIELDS, before=odd("Text(3)"))


def test_success_comes_from_the_spec(open_task):
    extra = "success=lambda info, reward, terminated: info['good'],"
    task = open_task("return Odd()", ODD_FIELDS, extra, odd("Discrete(2)"))
    task.reset(0)
    assert task.step(np.array([1.0]))[4] is True


def test_reset_can_be_replaced(open_task):
    extra = "reset=lambda env, seed: env.reset(seed=seed + 1)[0],"
    task = open_task(gym_make("Pendulum-v1"), VECTOR, extra)
    expected, _ = gymnasium.make("Pendulum-v1").reset(seed=6)
    assert task.reset(5).tolist() == expected.astype(np.float64).tolist()


def test_an_environment_that_does_not_construct_is_named_with_its_line(write_spec):
    for make, problem in {
        "return 1 / 0": "does not construct: ZeroDivisionError: division by zero",
        gym_make("CartPole-v99"): "does not construct: VersionNotFound: ",
        gym_make("NoSuchEnv-v0"): "does not construct: NameNotFound: ",
        "import no_such_sim": "the package 'no_such_sim' is not installed; run: pip install 'no_",
        "import no_such_sim.core": "run: pip install 'promptpo[sim]'",
    }.items():
        install = ", install='promptpo[sim]'" if "core" in make else ""
        path = write_spec((MAKE, make), ("horizon=50", f"horizon=50{install}"))
        line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if make in text)
        with pytest.raises(SpecError) as caught:
            Task.open(load_spec(path))
        message = str(caught.value)
        assert "\n" not in message
        assert message.startswith(f"{path}:{line}: ")
        assert problem in message
    with pytest.raises(SpecError, match="returned NoneType, not a Gymnasium environment; end it"):
        Task.open(load_spec(write_spec((MAKE, "pass"))))


def test_an_error_of_the_specs_own_code_in_a_step_has_its_line(open_task):
    before = "def success(info, reward, terminated):\n    return info['nothing']"
    task = open_task(gym_make("Pendulum-v1"), VECTOR, "success=success,", before)
    task.reset(0)
    with pytest.raises(SpecError, match=r"slide\.py:\d+: the spec failed in a step: KeyError"):
        task.step(np.zeros(1))
