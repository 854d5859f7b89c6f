"""The executor on the cores of a Ray cluster."""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import sandbox
from promptpo.common.terminal import say
from promptpo.errors import SpecError
from promptpo.rollout.cluster.connection import connect
from promptpo.rollout.cluster.crew import RayCrew
from promptpo.rollout.cluster.dispatch import Dispatch
from promptpo.rollout.cluster.likeness import kernel_choices, likeness
from promptpo.rollout.cluster.pace import Pace
from promptpo.rollout.cluster.parcels import Parcels
from promptpo.rollout.cluster.seat import Terms
from promptpo.rollout.jobs import Job, Settings, TaskInfo
from promptpo.rollout.sharing import Sharing
from promptpo.spec.bundle import bundle_of
from promptpo.spec.catalog import SHIPPED_FOLDER, Member, find
from promptpo.spec.importing import MANIFEST, home_of
from promptpo.spec.validation import PUBLISHED

R = TypeVar("R")


class RayExecutor(Sharing):
    """Actors on a Ray cluster, one a core, each with the worker that a local executor would have.

    Args:
        settings: what each worker needs to know.
        workers: how many; by default one for each core that the cluster has at any moment.
        address: of the cluster; empty for that of $RAY_ADDRESS, else for one started here.
        pace: what is taken for too long.

    Raises UsageError without Ray, ClusterError where it cannot be reached.
    """

    def __init__(
        self,
        settings: Settings,
        workers: int | None = None,
        address: str = "",
        *,
        pace: Pace | None = None,
    ) -> None:
        super().__init__()
        self._connection = connect(address, workers)
        try:
            import ray

            self._ray = ray.__version__
            terms, files = self._terms(settings)
            reference = ray.put(files) if files is not None else None
            named = self._connection.joined
            crew = RayCrew(terms, reference, workers, named=named)
            self._parcels = Parcels(ray.put)
            self._dispatch = Dispatch(crew, lambda text: say(f"promptpo: {text}", sys.stderr), pace)
        except BaseException:
            self._connection.close()
            raise

    def _terms(self, settings: Settings) -> tuple[Terms, dict[str, bytes] | None]:
        """What workers are told, and the files of a spec that other machines do not have."""
        suffix = PUBLISHED if settings.spec.endswith(PUBLISHED) else ""
        sent, root, files, alike = settings, "", None, likeness()
        if not self._connection.joined:
            alike["code"] = ""  # it is this machine's: a worker may begin after an edit
        else:
            found = find(settings.spec.removesuffix(PUBLISHED))
            entry = found.family if isinstance(found, Member) else found
            if entry.path.parent == SHIPPED_FOLDER:
                sent = replace(settings, spec=found.ref + suffix)
            else:
                root = str(home_of(entry.path, entry.module).root)
                files = _files(settings.spec)
        terms = Terms(
            likeness=alike,
            settings=pickle.dumps(sent),
            spec=settings.spec,
            root=root,
            suffix=suffix,
            kernels=kernel_choices(),
            kernel_names=sandbox.KERNEL_VARIABLES,
        )
        return terms, files

    @property
    def slots(self) -> int:
        """How many workers there are."""
        return self._dispatch.slots

    @property
    def about(self) -> dict[str, Any]:
        """Where jobs are run, for the record of a run."""
        where = {"address": self._connection.address, "nodes": self._dispatch.nodes}
        return {"name": "ray", "version": self._ray, **where, "workers": self.slots}

    def tell(self, notify: Callable[..., None]) -> None:
        """Let ``notify`` hear what there is to say of nodes, in whatever thread it is noticed."""
        self._dispatch.notify = notify

    async def describe(self) -> TaskInfo:
        """What the first worker found, once all that are there have begun, or have said why not."""
        found: Any = await asyncio.wrap_future(self._dispatch.begun())
        return found  # type: ignore[no-any-return]

    async def part(self, job: Job[R]) -> R:
        """The answer of one worker, wherever it comes to be done."""
        task = await asyncio.to_thread(self._parcels.pack, job)
        data = await asyncio.wrap_future(self._dispatch.submit(task))
        kind, answer = pickle.loads(data)  # noqa: S301 - of our own actor
        if kind == "raised":
            raise answer
        result: R = answer
        return result

    def close(self) -> None:
        """End every worker at once, and a Ray that was started for them."""
        self._dispatch.close()
        self._connection.close()


def _files(ref: str) -> dict[str, bytes]:
    """The contents of a spec's own files. Raises SpecError where one of them cannot be sent."""
    bundle = bundle_of(ref)
    if left_out := bundle.manifest.left_out:
        raise SpecError(
            f"{ref}: {left_out[0]} cannot be sent to other machines; put it on every node, and"
            " name it there by an absolute path, or make it smaller"
        )
    return {**bundle.contents, MANIFEST: bundle.manifest.text.encode()}
