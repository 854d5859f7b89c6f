"""What an environment does wrong is told, and costs the candidate, or the run, what it must."""

import asyncio
import contextlib
import re

import pytest
from faulty_spec import FAULTS, always, write
from scripted import data_of, replies, run

from promptpo.errors import SpecError
from promptpo.rollout import LocalExecutor, PlayJob, Settings, rehearse

LIMIT = 0.75
#: Under action 2, in the third step.
UNDER_TWO = "if action == 2 and self.count == 3: "


def slowly(*names):
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


@contextlib.contextmanager
def opened(spec, workers=1):
    settings = Settings(str(spec), env_timeout=LIMIT)
    with contextlib.closing(LocalExecutor(settings, workers)) as executor:
        yield executor


async def together(executor, *jobs):
    return await asyncio.gather(*map(executor.run, jobs))


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["os._exit", "lock held", "raise"])
def test_an_environment_that_fails_under_a_policy_fails_that_policy_only(tmp_path, fault):
    statement, words = FAULTS[fault]
    spec = write(tmp_path / "room.py", in_step=UNDER_TWO + statement)
    jobs = PlayJob(always(2), (1, 2)), PlayJob(always(1), (1, 2))
    with opened(spec, workers=2) as executor:
        bad, good = asyncio.run(together(executor, *jobs))
        asyncio.run(rehearse(executor, (1, 2)))  # no SpecError: other actions are fine
    assert (bad.error_kind, good.error) == ("environment", None)
    assert [result.return_ for result in good.results] == [5.0, 5.0]
    assert re.search(words, bad.error)
    assert "step" in bad.error
    assert str(tmp_path) not in bad.error  # a model reads it
    assert bad.steps >= 4  # they count, though nobody was left to tell


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["sys.exit", "crash", "os._exit"])
def test_an_environment_that_fails_whatever_is_done_is_the_specs_fault(tmp_path, fault):
    statement, words = FAULTS[fault]
    spec = write(tmp_path / "room.py", in_step=f"if self.count == 3: {statement}")
    with opened(spec) as executor, pytest.raises(SpecError, match=words) as caught:
        asyncio.run(rehearse(executor, (1, 2)))
    assert str(caught.value).startswith(str(spec))
    assert "step" in str(caught.value)
    assert "with random actions" in str(caught.value)


@pytest.mark.parametrize("call", ["make", "step", *slowly("import", "reset")])
@pytest.mark.parametrize("fault", ["crash", *slowly("os._exit")])
def test_what_fails_before_a_policy_acts_is_told_with_its_call(tmp_path, call, fault):
    statement, words = FAULTS[fault]
    place = "at_import" if call == "import" else f"in_{call}"
    with (
        opened(write(tmp_path / "room.py", **{place: statement})) as executor,
        pytest.raises(SpecError, match=words) as caught,
    ):
        asyncio.run(executor.describe())
    told = {"import": "", "make": "construct|make"}.get(call, call)
    assert re.search(told, str(caught.value))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_call_that_stands_still_is_told_with_its_line(tmp_path):
    spec = write(tmp_path / "room.py", in_reset="ctypes.PyDLL(None).sleep(1000)")
    line = 1 + spec.read_text().splitlines().index("        ctypes.PyDLL(None).sleep(1000)")
    with opened(spec) as executor, pytest.raises(SpecError) as caught:
        asyncio.run(executor.describe())
    words = f"reset did not return within {LIMIT} s (--set env_timeout)"
    assert str(caught.value) == f"{spec}: {words} at {spec}:{line}"


@pytest.mark.slow
def test_an_environment_that_closes_all_files_is_told(tmp_path):
    spec = write(tmp_path / "room.py", in_step="os.closerange(0, 4096)")
    with opened(spec) as executor, pytest.raises(SpecError, match="did it close its files"):
        asyncio.run(executor.describe())


@pytest.mark.slow
def test_steps_that_take_longer_together_than_one_may_are_no_standstill(tmp_path):
    spec = write(tmp_path / "room.py", in_step="time.sleep(0.1)")
    with opened(spec) as executor:
        (slow,) = asyncio.run(together(executor, PlayJob(always(1), (1, 2, 3))))
    assert slow.error is None


@pytest.mark.slow
def test_a_run_goes_on_after_a_policy_under_which_the_environment_fails(tmp_path):
    spec = write(tmp_path / "room.py", in_step=UNDER_TWO + "pay = float('nan')")
    result, events = run(tmp_path, replies([always(2), always(1)]), str(spec), test_episodes=0)
    told = {c["key"]["candidate"]: c for c in data_of(events, "candidate") if c["key"]["round"]}
    first, second = (told[index] for index in (1, 2))
    words = "step returns nan as the reward (at step 3 of episode slot 0, on action [2.0])"
    assert first["error"] == f"the environment failed under this policy: {words}"
    assert (first["score"], second["score"]["mean_return"]) == (None, 5.0)
    assert (result.status, result.best.name) == ("finished", "r01_c02")


@pytest.mark.slow
def test_a_run_ends_where_every_policy_would_fail(tmp_path):
    spec = write(tmp_path / "room.py", in_step="pay = np.inf if self.count == 3 else 1.0")
    with pytest.raises(SpecError, match=r"step returns inf as the reward \(at step 3 of seed"):
        run(tmp_path, replies([always(1)]), str(spec), test_episodes=0)
