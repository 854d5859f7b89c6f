"""Reference of twin:mujoco_hopper: mean return 2155, found in 2e+06 steps.

python benchmarks/twin_references.py mujoco_hopper --steps 2e6 --step 0.01 --noise 0.025
--directions 8 --best 4 --bonus 1 --processes 1
"""

from typing import Any

import numpy as np


class Policy:
    """Linear in what is observed."""

    WEIGHTS = np.array(
        [
            [
                -1.45952,
                0.202789,
                0.0180456,
                0.0284225,
                0.0116808,
                -0.156991,
                -0.0157609,
                -0.193327,
                -0.41434,
                0.498654,
                -0.456648,
                0.220334,
                1.06101,
            ],
            [
                0.272632,
                0.198317,
                0.188958,
                -0.0369689,
                -0.00673679,
                -0.112834,
                -0.0511362,
                6.29736,
                -0.186565,
                -0.51025,
                -0.167825,
                -0.293961,
                -0.286514,
            ],
            [
                1.14689,
                -0.0250959,
                -0.197259,
                -0.00427805,
                -0.00937107,
                -0.129464,
                0.0563207,
                -6.38822,
                -0.100588,
                0.122922,
                0.214889,
                -0.130423,
                -1.64622,
            ],
        ]
    )

    def __init__(self) -> None:
        self.step = 0

    def act(self, obs: Any) -> Any:  # noqa: ANN401 - the class that policies see
        seen = np.concatenate(
            [
                np.ravel(obs.elevation),
                np.ravel(obs.forward_velocity),
                np.ravel(obs.tilt_rate),
                np.ravel(obs.hinge_rates),
                np.ravel(obs.distance_along_x),
                np.ravel(obs.tilt),
                np.ravel(obs.angles_of_joints),
                np.ravel(obs.climb_rate),
            ]
        )
        features = [seen, np.ones(1)]
        self.step += 1
        return np.clip(self.WEIGHTS @ np.concatenate(features), -1.0, 1.0)
