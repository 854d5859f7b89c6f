"""Places on a Ray cluster: actors of one core each, which end with their driver."""

from __future__ import annotations

import contextlib
import pickle
from typing import TYPE_CHECKING, Any

from promptpo.errors import ClusterError, PromptPOError
from promptpo.rollout.cluster import seat
from promptpo.rollout.cluster.places import Gone, Place, Refused, Task

if TYPE_CHECKING:
    from promptpo.rollout.cluster.seat import Terms


class RayCrew:
    """Actors on the cores of a cluster: on all that it has, or ``workers`` of them.

    More than it has are asked for all the same: a cluster that grows by demand then grows.
    """

    def __init__(self, terms: Terms, files: Any, workers: int | None, *, named: bool) -> None:  # noqa: ANN401 - a reference of Ray's
        import ray

        self._workers = workers
        self._named = named
        # By value: a node may have no promptpo, and is to say so.
        ray.cloudpickle.register_pickle_by_value(seat)
        self._class = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(seat.Seat)
        self._terms, self._files = terms, files

    def wanted(self) -> int:
        """As many as were asked for, else as there are cores now. Raises ClusterError."""
        import ray

        if self._workers is not None:
            return self._workers
        try:
            return int(ray.cluster_resources().get("CPU", 0))
        except Exception as error:
            raise ClusterError(f"the Ray cluster does not answer any more ({error})") from None

    def hire(self) -> Place:
        """One more actor, wherever Ray finds a core for it."""
        return _Actor(self._class.remote(), self._terms, self._files, named=self._named)


class _Actor:
    def __init__(self, actor: Any, terms: Terms, files: Any, *, named: bool) -> None:  # noqa: ANN401
        self._actor = actor
        self._begin = (terms, files)
        self._named = named
        self.node = ""

    async def open(self) -> object:
        """What it found of the task and the sandbox."""
        found = await _awaited(self._actor.open.remote(*self._begin))
        self.node = found["node"]
        where = f"node {self.node.partition('/')[0]} ({found['host']})"
        if problem := found.get("problem"):
            raise Refused(self.node, ClusterError(f"{where}: {problem}"))
        kind, answer = pickle.loads(found["answer"])  # noqa: S301 - of our own actor
        if kind != "raised":
            return answer
        if not isinstance(answer, PromptPOError):
            raise answer
        if self._named:
            answer.args = (f"{where}: {answer}",)
        raise Refused(self.node, answer)

    async def do(self, task: Task) -> bytes:
        """The pickled answer to a pickled job."""
        names = [name for name, _ in task.parcels]
        contents = [content for _, content in task.parcels]
        answer: bytes = await _awaited(self._actor.do.remote(task.job, names, *contents))
        return answer

    def kill(self) -> None:
        """End it, with all that it has started."""
        import ray

        with contextlib.suppress(Exception):  # it, or Ray, is gone already
            ray.kill(self._actor)


async def _awaited(answer: Any) -> Any:  # noqa: ANN401
    """What an actor answers. Raises Gone where it, or its machine, is lost."""
    from ray import exceptions

    try:
        return await answer
    except exceptions.RayTaskError:
        raise
    except (exceptions.RayError, ConnectionError) as error:
        raise Gone(" ".join(str(error).split())[:200]) from None
