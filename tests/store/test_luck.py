"""Search scores without the luck of each round's episodes, on simulated runs."""

import numpy as np
import pytest
from written_runs import settings

from promptpo.common import text
from promptpo.common.blocks import Prose
from promptpo.report.figures import curve_figures
from promptpo.report.overview import learning_sections
from promptpo.report.tables import standings_table, trials_table
from promptpo.store.codec import encode, score_data
from promptpo.store.events import Event
from promptpo.store.luck import corrected
from promptpo.store.run import Run
from promptpo.types import Candidate, Episode, Key, Rollout


def rollout(seeds, returns):
    episodes = tuple(Episode(s, float(v), 10) for s, v in zip(seeds, returns, strict=True))
    return Rollout("search", tuple(seeds), episodes, 10 * len(episodes))


def simulated(rng, *, luck, noise, link=True, crash=None):
    """Six rounds of three candidates; the best so far plays each round's five episodes too.

    ``crash``: the episode of round 4 in which the best before it is lost.
    """
    candidates, truth, drawn, best = {}, {}, {}, None

    def played(name, seeds):
        for seed in seeds:
            drawn.setdefault(seed, rng.normal(0, luck))
        return rollout(seeds, [truth[name] + drawn[s] + rng.normal(0, noise) for s in seeds])

    for number in range(1, 7):
        seeds = [100 * number + i for i in range(5)]
        if best is not None and link:
            more = played(best, seeds)
            if number == 4 and crash is not None:
                returns = [v - (1e6 if i == crash else 0) for i, v in enumerate(more.returns)]
                more = rollout(seeds, returns)
            old = candidates[best]
            candidates[best] = Candidate(old.key, old.source, old.rollout, later=(*old.later, more))
        for place in range(1, 4):
            key = Key(number, place)
            truth[key.name] = 2.0 * number + rng.normal(0, 2)
            candidates[key.name] = Candidate(key, f"class {key.name}", played(key.name, seeds))
        best = max(candidates, key=lambda name: candidates[name].score)
    return list(candidates.values()), truth


def errors(rng, **how):
    """The mean squared errors of raw and corrected scores; whether intervals hold the truth."""
    candidates, truth = simulated(rng, **how)
    scores = corrected(candidates)
    means = {c.name: c.score.mean_return for c in candidates}
    fair = {name: scores[name].mean if name in scores else raw for name, raw in means.items()}
    centre = np.mean([truth[n] - fair[n] for n in scores]) if scores else 0.0
    held = [s.interval.low <= truth[n] - centre <= s.interval.high for n, s in scores.items()]
    return [np.mean([(v[n] - truth[n]) ** 2 for n in truth]) for v in (means, fair)], held


@pytest.mark.parametrize(
    ("luck", "noise", "share"),
    [(10.0, 1.0, 0.4), (10.0, 3.0, 0.6), (5.0, 5.0, 1.0), (0.0, 5.0, 1.1)],
)
def test_the_correction_reduces_the_error_and_never_adds_much(luck, noise, share):
    rng = np.random.default_rng(0)
    results = [errors(rng, luck=luck, noise=noise) for _ in range(25)]
    raw, fair = np.mean([squares for squares, _ in results], axis=0)
    assert fair < share * raw
    if luck > 5:
        assert 0.9 < np.mean([hit for _, held in results for hit in held]) <= 1


def test_where_luck_is_all_that_differs_scores_differ_as_pairs_do():
    candidates, truth = simulated(np.random.default_rng(1), luck=10.0, noise=1e-6)
    scores = corrected(candidates)
    first, last = candidates[0].name, candidates[-1].name
    assert scores[last].mean - scores[first].mean == pytest.approx(truth[last] - truth[first])
    assert scores[last].raw == candidates[-1].score.mean_return


def test_without_a_common_opponent_scores_are_raw():
    assert corrected(simulated(np.random.default_rng(2), luck=10.0, noise=1.0, link=False)[0]) == {}
    assert corrected([]) == {}
    single = Candidate(Key(1, 1), "class Policy", rollout([1], [5.0]))
    assert corrected([single, Candidate(Key(1, 2), None, error="no code")]) == {}


def test_a_policy_that_is_lost_once_pulls_nobody_along():
    candidates, truth = simulated(np.random.default_rng(3), luck=10.0, noise=1.0, crash=2)
    lost = min(candidates, key=lambda c: c.score.mean_return)
    scores = corrected(candidates)
    assert lost.score.mean_return < -1e4
    assert lost.name not in scores
    assert all(abs(score.mean - truth[name]) < 15 for name, score in scores.items())


def recorded(candidates):
    """A run of these candidates, as its events tell it."""
    events = [Event("run", {"config": settings(model="openai/a"), "spec": {"name": "toy"}}, 0.0)]
    for candidate in sorted(candidates, key=lambda c: c.key):
        digests = []
        for number, played in enumerate((candidate.rollout, *candidate.later)):
            digests.append(f"{candidate.name} {number}")
            head = {"key": encode(candidate.key), "digest": digests[-1]}
            events.append(Event("rollout", {**head, **encode(played)}, 1.0))
        data = {**encode(candidate), "rollout": digests[0], "later": digests[1:], "hard": None}
        events.append(Event("candidate", {**data, "score": score_data(candidate.score)}, 2.0))
    for number in range(1, 7):
        own = [c for c in candidates if c.key.round == number]
        winner = max(own, key=lambda c: c.score)
        best = {"name": winner.name, "score": score_data(winner.score)}
        end = {"round": number, "winner": winner.name, "score": best["score"], "notes": []}
        events.append(Event("round", {**end, "best": best}, 3.0))
    return Run(events)


def test_curve_and_tables_show_corrected_scores_and_say_so():
    run = recorded(simulated(np.random.default_rng(1), luck=10.0, noise=1.0)[0])
    (figure,) = curve_figures(run)
    assert figure.caption == "Mean return, corrected for the luck of each round's episodes"
    lead = next(line for line in figure.chart.lines if line.css == "lead")
    winners = [record.winner.name for record in run.round_records]
    assert lead.y == [run.corrected[name].mean for name in winners]
    assert lead.low == [run.corrected[name].interval.low for name in winners]
    first = run.corrected[winners[0]]
    assert f"return {text.number(first.raw)}, corrected {text.number(first.mean)}" in lead.tips[0]
    table = trials_table(run, run.round_records[0])
    at = table.columns.index("Corrected")
    assert table.rows[0][at].sort == run.corrected["r01_c01"].mean
    assert "Corrected" in standings_table(run).columns
    (section,) = (s for s in learning_sections(run) if s.id == "curve")
    prose = " ".join(block.text for block in section.blocks if isinstance(block, Prose))
    assert "by the policies that played in several rounds" in prose
    assert max(point.best.mean_return for point in run.points) == max(
        score.mean for score in run.corrected.values()
    )
