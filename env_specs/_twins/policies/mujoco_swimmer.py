"""Reference of twin:mujoco_swimmer: mean return 264.8, found in 6e+05 steps.

python benchmarks/twin_references.py mujoco_swimmer --steps 6e5 --step 0.5 --noise 0.4
--directions 8 --best 4 --oscillator 0.2 --every 4 --without position velocity --processes 1
"""

from typing import Any

import numpy as np


class Policy:
    """Linear in what is observed and in sine and cosine of a steady phase."""

    WEIGHTS = np.array(
        [
            [
                -0.649273,
                -0.54713,
                0.501544,
                -4.21635,
                -4.73509,
                0.801115,
                -3.26866,
                -0.834348,
                0.521373,
                1.04267,
                0.388722,
            ],
            [
                3.30013,
                0.278331,
                0.641938,
                3.58269,
                -3.70786,
                -0.043927,
                -7.03406,
                8.5573,
                -0.325976,
                -0.930435,
                0.258039,
            ],
        ]
    )

    def __init__(self) -> None:
        self.step = 0

    def act(self, obs: Any) -> Any:  # noqa: ANN401 - the class that policies see
        seen = np.concatenate(
            [
                np.ravel(obs.bearing),
                np.ravel(obs.bend_rates),
                np.ravel(obs.joint_angles),
                np.ravel(obs.bearing_rate),
            ]
        )
        features = [
            seen,
            np.sin(
                0.227995 * self.step * np.array([1, 1, 2, 2])
                + np.array([0, np.pi / 2, 0, np.pi / 2])
            ),
            np.ones(1),
        ]
        self.step += 1
        return np.clip(self.WEIGHTS @ np.concatenate(features), -1.0, 1.0)
