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
from promptpo.spec import Env, EnvSpec, Space, Task, layout, observation_size
from promptpo.store.folder import RunFolder
from promptpo.store.reading import RunRecord

if TYPE_CHECKING:
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
        """What to type to load it."""
        prefix = f"{_ROOT}={self.root} " if self.root else ""
        return f"{prefix}minari.load_dataset({self.name!r})"


def write_dataset(
    run: RunRecord, root: Path | None = None, *, author: str | None = None, force: bool = False
) -> Dataset:
    """Write the search episodes of a run's best policy; returns where they lie.

    The dataset ``promptpo/SPEC/DATE-TIME-v0`` is written under ``root``, or else where Minari
    itself looks: ``$MINARI_DATASETS_PATH`` or ``~/.minari/datasets``. Observations are those of the
    environment where the fields of the spec are just these; then the dataset also names the
    environment. Otherwise they are the fields as one float64 vector. Actions are those that the
    environment received. Where the task defines success, an episode's metadata tells it.

    Raises:
        UsageError: Minari is not installed, or there is such a dataset already and not ``force``.
        RunError: the run has no best policy, or its episodes are missing.
    """
    minari = _minari()
    spec, candidate = spec_of(run), best_of(run)
    folder = RunFolder(run.folder)
    episodes = folder.read_episodes(run.folder_of(run.trials[candidate.name]))
    name = f"promptpo/{spec.name}/{run.folder.name}-v0"
    task = Task.open(spec)
    with _datasets_in(root), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on fields that are left empty on purpose
        path = Path(minari.storage.get_dataset_path(name))
        _make_room(path, force=force)
        own = _is_raw(spec, task.env.observation_space)
        registered = _registered(task) if own else None
        dataset = minari.create_dataset_from_buffers(
            dataset_id=name,
            buffer=[_buffer(task, e, own=own) for e in episodes],
            env=registered,
            eval_env=registered,
            observation_space=task.env.observation_space if own else _field_space(spec),
            action_space=task.env.action_space,
            algorithm_name=f"promptpo ({_method_words(run)})",
            author=author,
            description=_description(run, spec, candidate.name, task.env, own=own),
            data_format="hdf5",
        )
        if task.spec.success is not None:
            dataset.storage.update_episode_metadata([{"success": e.success} for e in episodes])
    task.close()
    return Dataset(name, path, root)


def require_minari() -> None:
    """Raise UsageError where Minari is missing, or what its storage needs."""
    for name in ("minari", "h5py", "PIL"):
        try:
            there = find_spec(name) is not None
        except ImportError:
            there = False
        if not there:
            raise UsageError(
                f"--minari needs the package {name!r}; run: pip install 'promptpo[minari]'"
            )


def _minari() -> Any:  # noqa: ANN401 - a module
    """Minari with its storage. Raises UsageError where either is missing."""
    require_minari()
    import minari  # type: ignore[import-untyped]
    import minari.storage  # type: ignore[import-untyped]

    return minari


@contextlib.contextmanager
def _datasets_in(root: Path | None) -> Iterator[None]:
    """Let Minari keep its datasets under ``root``, for a while."""
    before = os.environ.get(_ROOT)
    if root is not None:
        os.environ[_ROOT] = str(root.resolve())
    try:
        yield
    finally:
        if before is not None:
            os.environ[_ROOT] = before
        elif root is not None:
            del os.environ[_ROOT]


def _make_room(path: Path, *, force: bool) -> None:
    if not path.exists():
        return
    if not force:
        raise UsageError(f"{path}: there is such a dataset already; give --force to replace it")
    shutil.rmtree(path)


def _is_raw(spec: EnvSpec, space: Space) -> bool:
    """Whether the fields are the environment's own observation, which is one array or number."""
    from gymnasium import spaces

    single = spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary
    return spec.observe is None and isinstance(space, single)


def _registered(task: Task) -> Any:  # noqa: ANN401 - Gymnasium's record of an environment
    """What makes the environment again by Gymnasium alone; None where it is not registered."""
    found = copy.deepcopy(getattr(task.env, "spec", None))
    if found is not None:
        found.max_episode_steps = task.horizon
    return found


def _field_space(spec: EnvSpec) -> Space:
    from gymnasium import spaces

    return spaces.Box(-np.inf, np.inf, (observation_size(spec.observation),), np.float64)


def _buffer(task: Task, episode: Trajectory, *, own: bool) -> Any:  # noqa: ANN401 - of Minari
    from minari.data_collector import EpisodeBuffer  # type: ignore[import-untyped]

    env, steps = task.env, len(episode.rewards)
    seen: NDArray[Any] = episode.observations
    if own:
        seen = _shaped(seen, env.observation_space)
    terminations, truncations = np.zeros((2, steps), dtype=bool)
    terminations[-1], truncations[-1] = episode.terminated, episode.truncated
    return EpisodeBuffer(
        seed=episode.seed,
        observations=seen,
        actions=_shaped(episode.actions, env.action_space),
        rewards=episode.rewards,
        terminations=terminations,
        truncations=truncations,
        infos={},
    )


def _shaped(rows: NDArray[np.float64], space: Space) -> NDArray[Any]:
    """Rows of float64 as elements of a space: shape (T, *space.shape) and the space's dtype."""
    found: NDArray[Any] = rows.reshape(len(rows), *space.shape).astype(space.dtype)
    return found


def _method_words(run: RunRecord) -> str:
    model = "recorded" if run.replayed else run.model  # no path of this machine
    return ", ".join(filter(None, (f"method {run.method}", model and f"model {model}")))


def _author_words(run: RunRecord) -> str:
    if run.asks_model:
        by = "was given in a file" if run.given_file else "a language model wrote"
        return f"{by}: {writer_of(run)}"
    return f"the method {run.method} made; no language model had a part in it"


def _description(run: RunRecord, spec: EnvSpec, candidate: str, env: Env, *, own: bool) -> str:
    lines = [
        f"Search episodes of the best policy (candidate {candidate}) of the promptpo run"
        f" {name_of(run)} on {spec.name}. {spec.title}",
        f"The policy is code that {_author_words(run)}.",
    ]
    if not own:
        fields = ", ".join(
            f"{item.name} [{item.start}:{item.stop}]" for item in layout(spec.observation)
        )
        lines.append(f"Observations are the fields of the spec: {fields}.")
    if not own and getattr(env, "spec", None) is not None:
        lines.append(f"Environment: {env.spec.id}.")
    return "\n".join(lines)
