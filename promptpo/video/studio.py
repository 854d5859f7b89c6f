"""The process that films: it plays episodes again as a worker does, and takes pictures of them.

A process of its own, because MuJoCo settles how it draws when it is imported, and because OpenGL
drivers can take a process down.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import traceback
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from promptpo.common.lives import in_lives
from promptpo.common.terminal import print_to
from promptpo.common.text import gist
from promptpo.errors import PromptPOError
from promptpo.export.policy_file import PolicyFile
from promptpo.rollout.jobs import PlayJob, Settings
from promptpo.rollout.watched import Lost, Watched
from promptpo.rollout.worker import Worker
from promptpo.spec import Flat, Task
from promptpo.video.camera import Drawing, open_camera, picture_rate
from promptpo.video.film import WRITERS, Film

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Pictures a second, at most, where none are asked for.
_MAX_RATE = 30.0


@dataclass(frozen=True)
class Reel:
    """One episode to film, and the files to make of it."""

    label: str
    seed: int
    title: str
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Order:
    """A policy's episodes to film. ``seeds`` are all those to be played, in order, filmed or not.

    ``size``, ``fps``: see ``promptpo.video.Options``; ``high``: shadows and smooth edges;
    ``every``: steps from picture to picture, 0 for the pace of ``fps``.
    """

    settings: Settings
    policy: PolicyFile
    life: int
    seeds: tuple[int, ...]
    reels: tuple[Reel, ...]
    size: tuple[int, int] | None
    fps: float | None
    high: bool
    drawing: Drawing
    every: int = 0


@dataclass(frozen=True)
class Filmed:
    """The state of a reel; ``done``: its files are written; ``failure``: the policy's error."""

    label: str
    steps: int
    total: float
    done: bool = False
    failure: str | None = None


def films(order: Order, environ: Mapping[str, str]) -> Generator[Filmed]:
    """Carry out an order in a process of its own; yield the states of the reels as they come.

    The process has ended when the iterator is closed. Raises PromptPOError if it ended before its
    time, or a call of the environment stood still, and what the process raises.
    """
    with tempfile.TemporaryDirectory() as scratch:
        variables = {**environ, **order.drawing.variables}
        limit = order.settings.env_timeout
        process = Watched(main, order, Path(scratch), limit=limit, environ=variables)
        try:
            while (message := process.receive()) is not None:
                if isinstance(message, PromptPOError):
                    raise message
                yield message
        except Lost as lost:
            words = f"{lost.words}{lost.location}" if lost.call else _last_line(Path(scratch))
            raise PromptPOError(f"the drawing process ended early: {words}") from None
        finally:
            process.close()


def _last_line(scratch: Path) -> str:
    log = scratch / "log"
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing; is another MUJOCO_GL (egl, osmesa) better?"


def main(connection: Connection, order: Order, scratch: Path) -> None:
    """Carry out an order; sends Filmed, and at the end None or a PromptPOError.

    What the simulator and its libraries print goes to ``log`` in the folder ``scratch``, with the
    traceback of a fault.
    """
    with (scratch / "log").open("wb", buffering=0) as file:
        print_to(os.dup(file.fileno()))
    code = 0
    try:
        work(order, connection, scratch)
        connection.send(None)
    except BrokenPipeError:
        code = 1
    except PromptPOError as error:
        connection.send(error)
    except Exception:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        connection.close()
        os._exit(code)  # OpenGL libraries can crash in the interpreter's own way out


def work(order: Order, connection: Connection, scratch: Path) -> None:
    """Play the order's episodes and film them. Raises PromptPOError where no episode starts."""
    worker, policy = Worker(order.settings), order.policy
    for seeds in in_lives(order.seeds, order.life, int):
        if not worker.tasks:  # at first, and where an environment has failed
            task = cast(FilmedTask, FilmedTask.open(worker.spec))
            task.place_camera(order, connection, scratch)
            worker.tasks.append(task)
        job = PlayJob(policy.played, seeds, order.life, prepared=policy.prepared)
        run = worker.play(job)
        if run.error is not None and task.film is None and not run.steps:
            raise PromptPOError(policy.failure(run.error, run.error_kind))
        task.end_film(run.error)


class FilmedTask(Task):
    """A task whose episodes are filmed, where the order has reels of them."""

    film: Film | None = None

    def place_camera(self, order: Order, connection: Connection, scratch: Path) -> None:
        """Get ready to film; to be called once, before the first reset."""
        self._order, self._connection, self._scratch = order, connection, scratch
        trouble, where = order.drawing.trouble, self.spec.where
        self._camera = open_camera(
            self.env, size=order.size, high=order.high, trouble=trouble, where=where
        )
        # Real time, leaving out pictures where they would be more than 30 a second.
        rate = picture_rate(self.env)
        pace = 1 if order.fps else max(1, math.ceil(rate / _MAX_RATE))
        self._every = order.every or pace
        self._fps = order.fps or rate / self._every

    def reset(self, seed: int, life: int | None = None) -> Flat:
        """Reset as Task.reset does; take the first picture, if the episode is one of the reels."""
        flat = super().reset(seed, life)
        self.end_film(None)
        for reel in self._order.reels:
            if reel.seed == seed:
                writers = [WRITERS[f.suffix[1:]](f, self._fps, self._scratch) for f in reel.files]
                self.film = Film(
                    self._camera, reel.label, reel.title, writers, self._every, self.horizon,
                    success=False if self.spec.defines_success else None,
                )  # fmt: skip
                self.film.take()
        return flat

    def advance(self, action: object) -> tuple[Flat, float, bool, bool, bool | None]:
        """Step as Task.advance does; a picture may be taken."""
        result = super().advance(action)
        if film := self.film:
            _, reward, terminated, truncated, success = result
            over, film.met = terminated or truncated, film.met or bool(success)
            if self.spec.constraints:  # they decide at the end
                success = bool(over and self.outcome(film.met)[0])
            film.step(reward, success, over=over)
            self._connection.send(Filmed(film.label, film.steps, film.total))
        return result

    def end_film(self, error: str | None) -> None:
        """Write the files of the film under way, if there is one; ``error``: the policy's."""
        if film := self.film:
            failure = None if film.over else error
            film.close(gist(failure) if failure else "")
            message = Filmed(film.label, film.steps, film.total, done=True, failure=failure)
            self._connection.send(message)
        self.film = None
