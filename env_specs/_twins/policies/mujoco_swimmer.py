"""Reference of twin:mujoco_swimmer: mean return 49.21, found in 2e+05 steps.

python benchmarks/twin_references.py mujoco_swimmer --oscillator 0.25 --steps 2e5 --step 0.05
--noise 0.05 --directions 8 --best 4 --processes 1 --every 5
"""

from typing import Any

import numpy as np


class Policy:
    """Linear in what is observed and in sine and cosine of a steady phase."""

    WEIGHTS = np.array(
        [
            [
                -0.0918877,
                -0.141334,
                0.170149,
                -0.00484759,
                0.0390942,
                -0.0746111,
                -0.049254,
                -0.0267813,
                0.227852,
                0.0616058,
                0.353834,
                0.0599911,
                -0.208168,
                -0.13901,
                -0.0608053,
            ],
            [
                0.103942,
                -0.127215,
                -0.0937948,
                0.00199718,
                0.0237875,
                -0.0255154,
                -0.00698964,
                0.296374,
                0.148682,
                -0.279127,
                -0.0416553,
                -0.0518855,
                0.433422,
                -0.137425,
                -0.068089,
            ],
        ]
    )

    def __init__(self) -> None:
        self.step = 0

    def act(self, obs: Any) -> Any:  # noqa: ANN401 - the class that policies see
        seen = np.concatenate(
            [
                np.ravel(obs.position),
                np.ravel(obs.bearing),
                np.ravel(obs.bend_rates),
                np.ravel(obs.joint_angles),
                np.ravel(obs.velocity),
                np.ravel(obs.bearing_rate),
            ]
        )
        features = [
            seen,
            np.sin(
                0.204942 * self.step * np.array([1, 1, 2, 2])
                + np.array([0, np.pi / 2, 0, np.pi / 2])
            ),
            (1.0,),
        ]
        self.step += 1
        return np.clip(self.WEIGHTS @ np.concatenate(features), -1.0, 1.0)
