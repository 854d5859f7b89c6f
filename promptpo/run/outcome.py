"""How a run stands and how it ended: ``run.json``, ``best/`` and the closing event."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from promptpo.run.services import RunServices
from promptpo.store.codec import encode, score_data
from promptpo.store.shapes import FORMAT
from promptpo.store.tally import Usage
from promptpo.types import Candidate, Rollout, Round, best_round
from promptpo.ui import results

Status = Literal["finished", "stopped", "interrupted"]


@dataclass(frozen=True, repr=False)
class Result:
    """What came out of a run.

    ``status``: "finished" (all rounds, the target or the patience), "stopped" (a limit),
    "interrupted" (Ctrl-C, SIGTERM, SIGHUP; resume it). ``reason`` says it in a phrase. ``best`` is
    the winner (None where no candidate ran), ``test`` its held-out episodes (None where the run did
    not get so far).
    """

    folder: Path
    status: Status
    reason: str
    best: Candidate | None
    test: Rollout | None
    usage: Usage
    rounds: tuple[Round, ...] = ()

    def __str__(self) -> str:
        return "\n".join(f"{label:11}  {words}" for label, words in results.rows(self))

    def __repr__(self) -> str:
        return f"<Result of {results.words(self)}>"

    def _repr_html_(self) -> str:
        return results.page(self)


@dataclass
class Outcome:
    """Writes down how a run stands; ``run`` is the first event of its log."""

    services: RunServices
    run: Mapping[str, Any]
    started: float = field(default_factory=time.time)

    def interrupted(self) -> Result:
        """What there is of a run that was interrupted."""
        s = self.services
        best, test = self.standing()
        return Result(
            s.folder.path, "interrupted", "interrupted", best, test, s.ledger.usage, s.rounds
        )

    def standing(self) -> tuple[Candidate | None, Rollout | None]:
        """The policy in ``best/``: the last with held-out episodes, else the best so far."""
        s = self.services
        if s.memo.record.tested is not None:
            return s.memo.record.tested
        best = best_round(s.rounds).winner if s.rounds else None
        return (None if best is None or best.score.failed else best), None

    def finish(self, result: Result) -> None:
        """Write the best policy and ``run.json``, and tell that the run has ended."""
        self.services.log.check_kept()
        if result.best is not None:
            self.services.write_best(result.best, result.test)
        self._write(result.status, result.reason, result.best, result.test)
        self._tell(
            result.test,
            status=result.status,
            reason=result.reason,
            best=result.best.name if result.best else None,
            score=score_data(result.best.score) if result.best else None,
        )

    def _tell(self, test: Rollout | None, **data: object) -> None:
        """Write down that the run has ended; an interruption is no end."""
        if data["status"] == "interrupted":
            known = self.services.memo.record.test
            held_out = {**encode(test), "digest": known["digest"]} if test and known else None
            self.services.report("finished", **data, test=held_out)
        else:
            self.services.write_down("finished", **data)

    def write(self, status: str, reason: str = "") -> None:
        """Replace ``run.json`` while the run goes on, or where it has failed."""
        self._write(status, reason, *self.standing())

    def fail(self, reason: str) -> None:
        """Write down that the run has failed, where anything can still be written."""
        if not self.services.log.lost:
            with contextlib.suppress(OSError):
                self.write("failed", reason)
        self.services.report("finished", status="failed", reason=reason, best=None, score=None)

    def _write(
        self, status: str, reason: str, best: Candidate | None, test: Rollout | None
    ) -> None:
        s = self.services
        info: dict[str, Any] = {
            **{k: v for k, v in self.run.items() if k != "spec"},
            "format": FORMAT,
            "config": s.config.as_dict(),
            "executor": s.executor.about,
            "spec": s.spec.name,
            "title": s.spec.title,
            "twin_of": s.spec.twin_of,
            "facts": bool(s.spec.facts),
            "references": self.run["spec"]["references"],
            "status": status,
            "reason": reason,
            "started": _clock(s.log.past[0].time if s.log.past else self.started),
            "ended": None if status == "running" else _clock(time.time()),
            "seconds": round(s.ledger.elapsed, 1),
            "usage": encode(s.ledger.usage),
        }
        if best is not None:
            info["best"] = {"name": best.name, "search": score_data(best.score)}
        if test is not None:
            info["test"] = test_data(test)
        s.folder.write_info(info)


def test_data(test: Rollout) -> dict[str, Any]:
    """Held-out episodes with their score and its 95% intervals."""
    data = {**encode(test), "score": score_data(test.score)}
    interval = test.return_interval
    data["mean_return_interval"] = [interval.low, interval.high] if interval else None
    data |= {"life_curve": encode(test.life_curve)} if test.life > 1 else {}
    if test.successes and test.successes[0] is not None:
        found = test.success_interval
        data["success_rate_interval"] = [found.low, found.high] if found else None
    return data


def _clock(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
