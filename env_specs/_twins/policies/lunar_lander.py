"""Reference of twin:lunar_lander: mean return 234.8, found in 1.5e+06 steps.

python benchmarks/twin_references.py lunar_lander --steps 1.5e6 --step 0.1 --noise 0.2
--directions 16 --best 8 --episodes 2 --processes 1
"""

from typing import Any

import numpy as np


class Policy:
    """Linear in what is observed."""

    WEIGHTS = np.array(
        [
            [
                2.15778,
                -0.123232,
                0.420068,
                -1.07616,
                -1.13665,
                1.06715,
                3.72237,
                -0.400615,
                1.18372,
                3.83571,
                -0.387347,
            ],
            [
                0.900757,
                -1.22705,
                -0.466694,
                1.41407,
                -0.354973,
                1.07336,
                0.48045,
                -0.256614,
                0.784549,
                2.38448,
                -0.149302,
            ],
            [
                -1.07748,
                1.18524,
                0.369227,
                -0.0983602,
                0.0265227,
                0.563487,
                -1.57427,
                0.140975,
                -0.298597,
                -3.21301,
                -0.209901,
            ],
            [
                1.24855,
                5.91755,
                0.859521,
                1.34478,
                2.26059,
                -1.12806,
                0.262286,
                -0.429294,
                -0.619678,
                2.81012,
                -0.618281,
            ],
        ]
    )

    def __init__(self) -> None:
        self.step = 0

    def act(self, obs: Any) -> Any:  # noqa: ANN401 - the class that policies see
        seen = np.concatenate(
            [
                np.ravel(obs.sideways_rate),
                np.ravel(obs.vertical_velocity),
                np.ravel(obs.resting),
                np.ravel(obs.right_strut),
                np.ravel(obs.vertical),
                np.ravel(obs.left_strut),
                np.ravel(obs.attitude),
                np.ravel(obs.collided),
                np.ravel(obs.sideways),
                np.ravel(obs.turning),
            ]
        )
        features = [seen, np.ones(1)]
        self.step += 1
        return int(np.argmax(self.WEIGHTS @ np.concatenate(features)))
