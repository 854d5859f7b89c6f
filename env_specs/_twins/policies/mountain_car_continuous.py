"""Reference of twin:mountain_car_continuous: mean return 88.95, found in 3e+05 steps.

python benchmarks/twin_references.py mountain_car_continuous --steps 3e5 --step 0.5 --noise 1.0
--processes 1
"""

from typing import Any

import numpy as np


class Policy:
    """Linear in what is observed."""

    WEIGHTS = np.array(
        [
            [
                -183.35,
                2.22179,
                0.84093,
            ],
        ]
    )

    def __init__(self) -> None:
        self.step = 0

    def act(self, obs: Any) -> Any:  # noqa: ANN401 - the class that policies see
        seen = np.concatenate(
            [
                np.ravel(obs.drift),
                np.ravel(obs.place),
            ]
        )
        features = [seen, np.ones(1)]
        self.step += 1
        return np.clip(self.WEIGHTS @ np.concatenate(features), -1.0, 1.0)
