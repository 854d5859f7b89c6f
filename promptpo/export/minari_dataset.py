"""A run's trajectories as a Minari dataset on this machine; nothing is uploaded."""

from __future__ import annotations

import contextlib
import copy
import os
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from promptpo.errors import UsageError
from promptpo.export.folder import best_of, name_of, spec_of, writer_of
from promptpo.spec import EnvSpec, Space, Task, layout, observation_size
from promptpo.store.folder import RunFolder
from promptpo.store.run import Run

if TYPE_CHECKING:
    from minari.data_collector import EpisodeBuffer  # type: ignore[import-untyped]
    from numpy.typing import NDArray

    from promptpo.types import Trajectory

_ROOT = "MINARI_DATASETS_PATH"


@dataclass(frozen=True)
class Dataset:
    """A dataset that was written: its id, its folder, and the root that it was written under.

    ``root`` is None where that is the place in which Minari looks by itself.
    """

    name: str
    path: Path
    root: Path | None

    @property
    def use(self) -> str:
        """Return what to type to load it."""
        prefix = f"{_ROOT}={self.root} " if self.root else ""
        return f"{prefix}minari.load_dataset({self.name!r})"


def write_dataset(
    run: Run, root: Path | None = None, *, author: str | None = None, force: bool = False
) -> Dataset:
    """Write the search episodes of a run's best policy as a Minari dataset.

    The dataset ``promptpo/SPEC/DATE-TIME-v0`` is written under ``root``, or else where Minari
    itself looks: ``$MINARI_DATASETS_PATH`` or ``~/.minari/datasets``. Observations are those of the
    environment where the fields of the spec are just these; then the dataset also names the
    environment. Otherwise they are the fields as one float64 vector. Actions are those that the
    environment received. Where the task defines success, an episode's metadata has it.

    Raises:
        UsageError: Minari is not installed, or there is such a dataset already and not ``force``.
        RunError: the run has no best policy, or its episodes are missing.
    """
    require_minari()
    import minari  # type: ignore[import-untyped]
    from minari.storage import get_dataset_path  # type: ignore[import-untyped]

    spec, candidate = spec_of(run), best_of(run)
    folder = RunFolder(run.folder)
    episodes = folder.read_episodes(run.folder_of(run.trials[candidate.name]))
    name = f"promptpo/{spec.name}/{run.folder.name}-v0"
    model = "recorded" if run.replayed else run.model  # no path of this machine
    task = Task.open(spec)
    observations, registered = _observed(task)
    own = observations is task.env.observation_space
    with _datasets_in(root), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on fields that are left empty on purpose
        path = Path(get_dataset_path(name))
        if path.exists() and not force:
            raise UsageError(f"{path}: there is such a dataset already; give --force to replace it")
        shutil.rmtree(path, ignore_errors=True)
        dataset = minari.create_dataset_from_buffers(
            dataset_id=name,
            buffer=[_buffer(e, observations, task.env.action_space) for e in episodes],
            env=registered,
            eval_env=registered,
            observation_space=observations,
            action_space=task.env.action_space,
            algorithm_name=f"promptpo (method {run.method}{model and f', model {model}'})",
            author=author,
            description=_description(run, spec, candidate.name, own=own),
            data_format="hdf5",
        )
        if task.spec.success is not None:
            dataset.storage.update_episode_metadata([{"success": e.success} for e in episodes])
    task.close()
    return Dataset(name, path, root)


def require_minari() -> None:
    """Raise UsageError where Minari is missing, or what its storage needs."""
    for name in ("minari", "h5py", "PIL"):
        if find_spec(name) is None:
            raise UsageError(
                f"--minari needs the package {name!r}; run: pip install 'promptpo[minari]'"
            )


@contextlib.contextmanager
def _datasets_in(root: Path | None) -> Iterator[None]:
    """Let Minari keep its datasets under ``root``, for a while."""
    before = {_ROOT: os.environ[_ROOT]} if _ROOT in os.environ else {}
    os.environ.update({_ROOT: str(root.resolve())} if root else {})
    try:
        yield
    finally:
        os.environ.pop(_ROOT, None)
        os.environ.update(before)


def _observed(task: Task) -> tuple[Space, Any]:
    """Return the space of observations, and what makes the environment again by Gymnasium alone.

    The latter is None where the environment is not registered, or the fields of the spec are not
    its own observation, one array or number.
    """
    from gymnasium import spaces

    spec, space = task.spec, task.env.observation_space
    single = spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary
    if spec.observe is not None or not isinstance(space, single):
        size = observation_size(spec.observation)
        return spaces.Box(-np.inf, np.inf, (size,), np.float64), None
    registered = copy.deepcopy(getattr(task.env, "spec", None))
    if registered is not None:
        registered.max_episode_steps = task.horizon
    return space, registered


def _buffer(episode: Trajectory, observations: Space, actions: Space) -> EpisodeBuffer:
    from minari.data_collector import EpisodeBuffer

    terminations, truncations = np.zeros((2, len(episode.rewards)), dtype=bool)
    terminations[-1], truncations[-1] = episode.terminated, episode.truncated
    return EpisodeBuffer(
        seed=episode.seed,
        observations=_shaped(episode.observations, observations),
        actions=_shaped(episode.actions, actions),
        rewards=episode.rewards,
        terminations=terminations,
        truncations=truncations,
        infos={},
    )


def _shaped(rows: NDArray[np.float64], space: Space) -> NDArray[Any]:
    """Return rows of float64 as elements of a space: shape (T, *space.shape), its dtype."""
    shaped: NDArray[Any] = rows.reshape(len(rows), *space.shape).astype(space.dtype)
    return shaped


def _description(run: Run, spec: EnvSpec, candidate: str, *, own: bool) -> str:
    text = (
        f"Search episodes of the best policy (candidate {candidate}) of the promptpo run"
        f" {name_of(run)} on {spec.name}. {spec.title}\nWritten by: {writer_of(run)}."
    )
    if own:
        return text
    fields = [f"{item.name} [{item.start}:{item.stop}]" for item in layout(spec.observation)]
    return f"{text}\nObservations are the fields of the spec: {', '.join(fields)}."
