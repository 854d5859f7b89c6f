"""The history as an optimizer's state: sources and scores, the best last."""

from rollouts import rollout

from promptpo.prompts.promptpo.optimizer import render_solutions
from promptpo.types import Candidate, Key, Round, best_of


def candidate(round_, number, value, note=""):
    source = f"class Policy:\n    value = {value!r}  # {note}\n"
    run = rollout([value, value]) if isinstance(value, float) else None
    error = None if run else value
    return Candidate(Key(round_, number), source, run, error)


def rounds_of(*rounds):
    return [Round(n, tuple(cs), best_of(cs)) for n, cs in enumerate(rounds, 1)]


ROUNDS = rounds_of(
    [candidate(1, 1, 3.0), candidate(1, 2, "it raised")],
    [candidate(2, 1, 5.0), candidate(2, 2, 4.0), candidate(2, 3, 3.0)],
)


def test_the_best_comes_last_and_what_failed_first():
    text = render_solutions(ROUNDS, 8000)
    places = [text.index(f"\n{name}:") for name in ("r01_c02", "r01_c01", "r02_c02", "r02_c01")]
    assert places == sorted(places)
    assert "Score: return 5 (2)" in text
    assert "failed: it raised" in text


def test_each_text_is_told_once():
    assert "r02_c03" not in render_solutions(ROUNDS, 8000)


def test_what_does_not_fit_goes_from_the_worst_on_and_the_best_stays():
    rounds = rounds_of([candidate(1, i, float(i), "x" * 400) for i in range(1, 9)])
    text = render_solutions(rounds, 500)
    assert "5 that score less are left out" in text
    assert text.index("r01_c06:") < text.index("r01_c08:")
    assert "r01_c08:" in render_solutions(rounds, 1)


def test_before_anything_has_played_there_is_nothing_to_tell():
    assert render_solutions([], 500) == ""
