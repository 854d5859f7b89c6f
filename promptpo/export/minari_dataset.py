"""A run's trajectories as a Minari dataset on this machine; nothing is uploaded."""

from __future__ import annotations

import copy
import shutil
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from promptpo.errors import UsageError
from promptpo.export.folder import best_of, name_of, spec_of, writer_of
from promptpo.spec import Space, Task, layout, observation_size
from promptpo.store.folder import RunFolder
from promptpo.store.run import Run

if TYPE_CHECKING:
    from minari.data_collector import EpisodeBuffer  # type: ignore[import-untyped]
    from numpy.typing import NDArray

    from promptpo.types import Trajectory


def write_dataset(run: Run, *, author: str | None = None, force: bool = False) -> tuple[str, Path]:
    """Write the search episodes of a run's best policy as a Minari dataset.

    The dataset ``promptpo/SPEC/DATE-TIME-v0`` is written where Minari looks:
    ``$MINARI_DATASETS_PATH`` or ``~/.minari/datasets``. Observations are those of the environment
    where the fields of the spec are just these; then the dataset also names the environment.
    Otherwise they are the fields as one float64 vector. Actions are those that the environment
    received. Where the task defines success, an episode's metadata has it. Returns the dataset's
    name and folder.

    Raises:
        UsageError: Minari is not installed, or there is such a dataset already and not ``force``.
        RunError: the run has no best policy, or its episodes are missing.
    """
    require_minari()
    import minari  # type: ignore[import-untyped]
    from minari.storage import get_dataset_path  # type: ignore[import-untyped]

    spec, candidate = spec_of(run), best_of(run)
    episodes = RunFolder(run.folder).read_episodes(run.folder_of(run.trials[candidate.name]))
    name = f"promptpo/{spec.name}/{run.folder.name}-v0"
    path = Path(get_dataset_path(name))
    if path.exists() and not force:
        raise UsageError(f"{path}: there is such a dataset already; give --force to replace it")
    shutil.rmtree(path, ignore_errors=True)
    model = "recorded" if run.replayed else run.model  # no path of this machine
    task = Task.open(spec)
    actions = task.env.action_space
    observations, registered = _observed(task)
    description = (
        f"Search episodes of the best policy (candidate {candidate.name}) of the promptpo run"
        f" {name_of(run)} on {spec.name}. {spec.title}\nWritten by: {writer_of(run)}."
    )
    if observations is not task.env.observation_space:
        fields = [f"{item.name} [{item.start}:{item.stop}]" for item in layout(spec.observation)]
        description += f"\nObservations are the fields of the spec: {', '.join(fields)}."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on fields that are left empty on purpose
        dataset = minari.create_dataset_from_buffers(
            dataset_id=name,
            buffer=[_buffer(episode, observations, actions) for episode in episodes],
            env=registered,
            eval_env=registered,
            observation_space=observations,
            action_space=actions,
            algorithm_name=f"promptpo (method {run.method}{model and f', model {model}'})",
            author=author,
            description=description,
            data_format="hdf5",
        )
    if spec.defines_success:
        dataset.storage.update_episode_metadata([{"success": e.success} for e in episodes])
    task.close()
    return name, path


def require_minari() -> None:
    """Raise UsageError where Minari is missing, or what its storage needs."""
    for name in ("minari", "h5py", "PIL"):
        if find_spec(name) is None:
            raise UsageError(
                f"--minari needs the package {name!r}; run: pip install 'promptpo[minari]'"
            )


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

    def shaped(rows: NDArray[np.float64], space: Space) -> NDArray[Any]:
        """Return rows of float64 as elements of a space: shape (T, *space.shape), its dtype."""
        array: NDArray[Any] = rows.reshape(len(rows), *space.shape).astype(space.dtype)
        return array

    ends = np.zeros((2, len(episode.rewards)), dtype=bool)
    ends[:, -1] = episode.terminated, episode.truncated
    return EpisodeBuffer(
        seed=episode.seed,
        observations=shaped(episode.observations, observations),
        actions=shaped(episode.actions, actions),
        rewards=episode.rewards,
        terminations=ends[0],
        truncations=ends[1],
        infos={},
    )
