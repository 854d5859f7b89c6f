"""The process that films: it plays episodes again as a worker does, and takes pictures of them.

A process of its own, because MuJoCo settles how it draws when it is imported, and because OpenGL
drivers can take a process down.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from promptpo.common.lives import in_lives
from promptpo.common.streams import print_to
from promptpo.common.text import gist
from promptpo.errors import PromptPOError
from promptpo.export.policy_file import PolicyFile
from promptpo.rollout.jobs import PlayJob, Settings
from promptpo.rollout.worker import Worker
from promptpo.spec import Env, Flat, Task, layout
from promptpo.video.camera import PICTURE_SIZE, Camera, draws_itself, open_camera, picture_rate
from promptpo.video.chart import Chart
from promptpo.video.film import Film, Pace

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


@dataclass(frozen=True)
class Reel:
    """One episode to film, and the files to make of it."""

    label: str
    seed: int
    title: str
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Order:
    """What to film. ``seeds`` are all episodes to be played, in order, filmed or not.

    ``size``, ``fps``: see ``promptpo.video.Options``; ``high``: shadows and smooth edges;
    ``trouble``: why MuJoCo cannot draw on this machine, if it cannot.
    """

    settings: Settings
    policy: PolicyFile
    life: int
    seeds: tuple[int, ...]
    reels: tuple[Reel, ...]
    size: tuple[int, int] | None
    fps: float | None
    high: bool
    trouble: str


@dataclass(frozen=True)
class Progress:
    """A reel is so many steps long by now."""

    label: str
    steps: int


@dataclass(frozen=True)
class Filmed:
    """What the episode of a reel came to; ``failure`` is the policy's error, if it had one."""

    label: str
    total: float
    length: int
    failure: str | None


class FilmedTask(Task):
    """A task that has the episodes of some seeds filmed."""

    studio: Studio

    def reset(self, seed: int, life: int | None = None) -> Flat:
        """As Task.reset; the first picture is taken."""
        flat = super().reset(seed, life)
        self.studio.begin(seed, flat)
        return flat

    def advance(self, action: object) -> tuple[Flat, float, bool, bool, bool | None]:
        """As Task.advance; a picture may be taken."""
        result = super().advance(action)
        self.studio.stepped(*result)
        return result


@dataclass
class Studio(Worker):
    """A worker with one environment and a camera on it."""

    order: Order = field(kw_only=True)
    connection: Connection = field(kw_only=True)
    film: Film | None = None
    _reel: Reel | None = None
    _chart: Chart | None = None
    _camera: Camera = field(init=False)
    _pace: Pace = field(init=False)

    def open_tasks(self, count: int) -> Sequence[Task]:
        """The one environment, with its camera."""
        if not self.tasks:
            task = cast(FilmedTask, FilmedTask.open(self.spec))
            task.studio = self
            self.tasks.append(task)
            self._place_camera(task.env)
        return self.tasks

    def _place_camera(self, env: Env) -> None:
        order, spec = self.order, self.spec
        if draws_itself(env):
            self._camera = open_camera(
                env, size=order.size, high=order.high, trouble=order.trouble, where=spec.where
            )
            self._pace = Pace.of(picture_rate(env), order.fps)
        else:
            self._camera = self._chart = Chart(layout(spec.observation), order.size or PICTURE_SIZE)
            self._pace = Pace.of_chart(spec.horizon, order.fps)

    def work(self) -> None:
        """Carry out the order."""
        order = self.order
        for seeds in in_lives(order.seeds, order.life, int):
            policy = order.policy
            run = self.play(PlayJob(policy.played, seeds, order.life, prepared=policy.prepared))
            if run.error is not None and self.film is None and not run.steps:
                raise PromptPOError(order.policy.failure(run.error, run.error_kind))
            self.end(run.error)

    def begin(self, seed: int, observation: Flat) -> None:
        """An episode has been reset: film it, if it is one of the reels."""
        self.end(None)
        reel = next((r for r in self.order.reels if r.seed == seed), None)
        if reel is None:
            return
        if self._chart is not None:
            self._chart.start(observation)
        horizon, tells = self.spec.horizon, self.spec.success is not None
        self._reel = reel
        self.film = Film(self._camera, reel.title, reel.files, self._pace, horizon, tells)
        self.film.start()

    def end(self, error: str | None) -> None:
        """Close the reel under way, if there is one, and tell what came of it."""
        if self.film is None or self._reel is None:
            return
        moment = self.film.moment
        failure = error if not moment.over else None
        self.film.close(gist(failure) if failure else "")
        self.connection.send(Filmed(self._reel.label, moment.total, moment.step, failure))
        self.film = self._reel = None

    def stepped(
        self,
        observation: Flat,
        reward: float,
        terminated: bool,
        truncated: bool,
        success: bool | None,
    ) -> None:
        """A step has been taken: show it, if it is of a reel."""
        if self.film is None or self._reel is None:
            return
        if self._chart is not None:
            self._chart.see(observation, reward)
        self.film.step(reward, success, over=terminated or truncated)
        self.connection.send(Progress(self._reel.label, self.film.moment.step))


def main(connection: Connection, order: Order, log: Path) -> None:
    """Carry out an order; sends Progress and Filmed, then None, or a PromptPOError.

    What the simulator and its libraries print goes to ``log``, with the traceback of a fault.
    """
    with log.open("wb", buffering=0) as file:
        print_to(os.dup(file.fileno()))
    code = 0
    try:
        Studio(order.settings, order=order, connection=connection).work()
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
