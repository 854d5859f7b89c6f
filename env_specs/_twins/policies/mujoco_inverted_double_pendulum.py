"""Reference of twin:mujoco_inverted_double_pendulum: mean return 9698, found in 1e+06 steps.

python benchmarks/twin_references.py mujoco_inverted_double_pendulum --steps 1e6 --step 0.05
--noise 0.05 --processes 1
"""

from typing import Any

import numpy as np


class Policy:
    """Linear in what is observed."""

    WEIGHTS = np.array(
        [
            [
                2.76782,
                -2.23787,
                1.55527,
                -0.00309737,
                -0.47351,
                0.385299,
                0.987747,
                0.1406,
                0.123974,
                -7.68741,
                0.472314,
                -3.3327,
            ],
        ]
    )

    def __init__(self) -> None:
        self.step = 0

    def act(self, obs: Any) -> Any:  # noqa: ANN401 - the class that policies see
        seen = np.concatenate(
            [
                np.ravel(obs.end_x),
                np.ravel(obs.slide_position),
                np.ravel(obs.top_height),
                np.ravel(obs.buffer_force),
                np.ravel(obs.rates),
                np.ravel(obs.cos_of_angles),
                np.ravel(obs.slide_velocity),
                np.ravel(obs.sines),
            ]
        )
        features = [seen, np.ones(1)]
        self.step += 1
        return np.clip(self.WEIGHTS @ np.concatenate(features), -1.0, 1.0)
