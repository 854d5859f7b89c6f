"""Where the best possible score is known, a search that has reached it ends."""

from dataclasses import replace

import pytest
from rollouts import rollout

from promptpo.errors import GoalReached
from promptpo.run.limits import check_optimum
from promptpo.spec import Reference, load_spec
from promptpo.types import Candidate, Key

CARTPOLE = load_spec("cartpole")  # its optimum is 500
WITH_SUCCESS = replace(
    CARTPOLE, references={"optimum": Reference(500.0, 1.0), "random": Reference(20.0, 0.0)}
)


def best(*returns, **details):
    return Candidate(Key(1, 1), "text", rollout(returns, **details))


def test_the_best_possible_score_ends_the_search():
    with pytest.raises(GoalReached, match="best possible score, a return of 500, is reached"):
        check_optimum(CARTPOLE, best(*[500.0] * 10))


def test_it_is_reached_within_noise():
    with pytest.raises(GoalReached):
        check_optimum(CARTPOLE, best(*[500.0] * 19, 490.0))


@pytest.mark.parametrize(
    "candidate",
    [
        best(*[500.0] * 9),
        best(*[500.0, 300.0] * 10),
        best(*[490.0] * 20),
        Candidate(Key(1, 1), "text", rollout((500.0,) * 10), error="it raised"),
        Candidate(Key(1, 1), None),
    ],
    ids=["few episodes", "noisy ones", "below it", "failed", "never played"],
)
def test_it_is_not_reached_by(candidate):
    check_optimum(CARTPOLE, candidate)


def test_where_no_optimum_is_stated_nothing_ends():
    spec = replace(CARTPOLE, references={"expert": 500.0})
    check_optimum(spec, best(*[500.0] * 10))


@pytest.mark.parametrize(("failures", "ends"), [(0, True), (6, False)])
def test_success_must_be_reached_too(failures, ends):
    successes = [False] * failures + [True] * (20 - failures)
    candidate = best(*[500.0] * 20, successes=successes)
    if ends:
        with pytest.raises(GoalReached):
            check_optimum(WITH_SUCCESS, candidate)
    else:
        check_optimum(WITH_SUCCESS, candidate)
