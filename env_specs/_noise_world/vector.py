"""Many NoiseWorlds at once, in numpy: ``gymnasium.make_vec("promptpo/NoiseWorld-v0", ...)``.

Episodes are bit for bit those of :class:`NoiseWorld` under the same seeds, and what is returned is
what Gymnasium's ``SyncVectorEnv`` returns. ``benchmarks/noise_world_vector.py`` measures both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .world import MOVES, NoiseWorld, moves_of, observations_of

Batch = tuple[
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.bool_],
    NDArray[np.bool_],
    dict[str, Any],
]


class NoiseWorldVector(VectorEnv[NDArray[np.float64], NDArray[np.int64], NDArray[Any]]):
    """``num_envs`` agents on the same board, each with a generator of its own.

    The step after the last one of an episode begins the next episode (``AutoresetMode.NEXT_STEP``).

    Attributes:
        states: number of each agent's state (see ``Board.state``), shape (num_envs,).
        steps: steps taken in each episode, shape (num_envs,).
    """

    metadata = {  # noqa: RUF012 - Gymnasium's API
        **NoiseWorld.metadata,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(self, num_envs: int = 1, board: int = 0, render_mode: str | None = None) -> None:
        self._single = NoiseWorld(board, render_mode)
        self.board = self._single.board
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.single_observation_space = self._single.observation_space
        self.single_action_space = self._single.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        table = moves_of(self.board)
        self._seen = np.stack(observations_of(self.board))
        self._chance = np.array([move.chance for moves in table for move in moves])
        # Outcomes by (whether the usual one was missed, state, action), flat.
        both = [[m.usual for ms in table for m in ms], [m.other for ms in table for m in ms]]
        outcomes = np.array(both, dtype=np.float64).reshape(-1, 5)
        self._target = outcomes[:, 0].astype(np.int64)
        self._reward = outcomes[:, 1]
        self._terminated, self._success, self._bad = (outcomes[:, 2:].T > 0).copy()
        self._generators: list[np.random.Generator | None] = [None] * num_envs
        self._everyone = np.arange(num_envs)
        self._draws = np.zeros((num_envs, self.board.horizon))
        self._over = np.zeros(num_envs, dtype=np.bool_)
        self.states = np.zeros(num_envs, dtype=np.int64)
        self.steps = np.zeros(num_envs, dtype=np.int64)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Put all agents on the start; a seed s gives them the seeds s, s + 1, ...

        Raises:
            ValueError: a sequence of seeds is not of length num_envs.
        """
        if seed is None or isinstance(seed, int | np.integer):
            seeds = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds were given for {self.num_envs} environments")
        for index, own in enumerate(seeds):
            if own is not None or self._generators[index] is None:
                self._generators[index] = np_random(own)[0]
        self.states[:] = 0
        self.steps[:] = 0
        self._over[:] = False
        self._draw(self._everyone)
        return self._seen[self.states], {}

    def step(self, actions: NDArray[np.int64]) -> Batch:
        """Move all agents; those whose episode was over begin the next one, for a reward of 0.

        Raises:
            gymnasium.error.ResetNeeded: ``reset`` was never called.
            gymnasium.error.InvalidAction: an action is not 0, 1, 2 or 3.
        """
        actions = np.asarray(actions, dtype=np.int64)
        if actions.shape != (self.num_envs,) or not ((actions >= 0) & (actions < len(MOVES))).all():
            raise gymnasium.error.InvalidAction(
                f"actions must be {self.num_envs} numbers from 0 to {len(MOVES) - 1}"
            )
        if self._generators[0] is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        going = ~self._over
        draws = self._draws[self._everyone, np.minimum(self.steps, self.board.horizon - 1)]
        move = self.states * len(MOVES) + actions
        outcome = np.where(draws < self._chance[move], move, move + len(self._chance))
        self.states = np.where(going, self._target[outcome], 0)
        self.steps = np.where(going, self.steps + 1, 0)
        reward = np.where(going, self._reward[outcome], 0.0)
        terminated = going & self._terminated[outcome]
        truncated = going & ~terminated & (self.steps == self.board.horizon)
        infos = self._infos(going, outcome)
        self._draw(np.flatnonzero(self._over))
        self._over = terminated | truncated
        return self._seen[self.states], reward, terminated, truncated, infos

    def render(self) -> tuple[Any, ...]:
        """Return the frame (or text) of every agent, as :meth:`NoiseWorld.render` does."""
        frames = []
        for state in self.states:
            self._single.state = int(state)
            frames.append(self._single.render())
        return tuple(frames)

    def _draw(self, agents: NDArray[np.int64]) -> None:
        """Draw the noise of the next episode of some agents."""
        for index in agents:
            generator = self._generators[index]
            if generator is not None:
                self._draws[index] = generator.random(self.board.horizon)

    def _infos(self, going: NDArray[np.bool_], outcome: NDArray[np.int64]) -> dict[str, Any]:
        """Return the infos of a step; ``_key`` tells which agents have one, as Gymnasium does."""
        if not going.any():
            return {}
        infos: dict[str, Any] = {}
        for key, values in (("success", self._success), ("entered_bad_cell", self._bad)):
            infos[key] = going & values[outcome]
            infos[f"_{key}"] = going.copy()
        return infos
