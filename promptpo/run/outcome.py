"""How a run stands and how it ended: ``run.json``, ``best/`` and the closing event."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import Any

from promptpo.run.services import RunServices
from promptpo.store.codec import encode, score_data
from promptpo.store.events import FORMAT
from promptpo.types import Candidate, Rollout, best_round


@dataclass
class Outcome:
    """Writes down how a run stands."""

    services: RunServices
    started: float = field(default_factory=time.time)

    def standing(self) -> tuple[Candidate | None, Rollout | None]:
        """Return the policy in ``best/``: the last with held-out episodes, else the best so far."""
        run, rounds = self.services.run, self.services.rounds
        if run.tested is not None:
            return run.tested
        best = best_round(rounds).winner if rounds else None
        return (None if best is None or best.score.failed else best), None

    def finish(
        self, status: str, reason: str, best: Candidate | None, test: Rollout | None
    ) -> None:
        """Write the best policy and ``run.json``, and tell that the run has ended."""
        s = self.services
        s.journal.log.check_kept()
        if best is not None:
            s.write_best(best, test)
        self._write(status, reason, best, test)
        data: dict[str, Any] = {
            "status": status,
            "reason": reason,
            "best": best.name if best else None,
            "score": score_data(best.score) if best else None,
        }
        if status == "interrupted":  # that is no end
            s.report("finished", **data, test=encode(test))
        else:
            s.journal.write("finished", **data)

    def write(self, status: str, reason: str = "") -> None:
        """Replace ``run.json`` while the run goes on, or where it has failed."""
        self._write(status, reason, *self.standing())

    def fail(self, reason: str) -> None:
        """Write down that the run has failed, where anything can still be written."""
        if not self.services.journal.log.lost:
            with contextlib.suppress(OSError):
                self.write("failed", reason)
        self.services.report("finished", status="failed", reason=reason, best=None, score=None)

    def _write(
        self, status: str, reason: str, best: Candidate | None, test: Rollout | None
    ) -> None:
        s = self.services
        info: dict[str, Any] = {
            **{k: v for k, v in s.run.header.items() if k != "spec"},
            "format": FORMAT,
            "config": s.config.as_dict(),
            "executor": s.executor.about,
            "spec": s.spec.name,
            "title": s.spec.title,
            "twin_of": s.spec.twin_of,
            "facts": bool(s.spec.facts),
            "references": s.run.header["spec"]["references"],
            "status": status,
            "reason": reason,
            "started": _clock(s.run.started or self.started),
            "ended": None if status == "running" else _clock(time.time()),
            "seconds": round(s.ledger.elapsed, 1),
            "usage": encode(s.ledger.usage),
        }
        if best is not None:
            info["best"] = {"name": best.name, "search": score_data(best.score)}
        if test is not None:
            info["test"] = test_data(test)
        s.folder.write_info(info)
        s.run.info = info


def test_data(test: Rollout) -> dict[str, Any]:
    """Return held-out episodes with their score and its 95% intervals, as plain values."""
    data = {**encode(test), "score": score_data(test.score)}
    interval = test.return_interval
    data["mean_return_interval"] = [interval.low, interval.high] if interval else None
    data |= {"life_curve": encode(test.life_curve)} if test.life > 1 else {}
    if test.successes and test.successes[0] is not None:
        rates = test.success_interval
        data["success_rate_interval"] = [rates.low, rates.high] if rates else None
    return data


def _clock(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
