"""Reference of twin:cartpole: mean return 500, found in 2e+05 steps.

python benchmarks/twin_references.py cartpole --steps 2e5 --step 0.05 --noise 0.05 --directions 8
--best 4
"""

from typing import Any

import numpy as np


class Policy:
    """Linear in what is observed."""

    WEIGHTS = np.array(
        [
            [
                4.74362,
                -0.104086,
                0.388859,
                0.159198,
                -0.0410951,
            ],
            [
                -8.08253,
                0.608401,
                -0.217979,
                -0.219242,
                0.0929848,
            ],
        ]
    )

    def __init__(self) -> None:
        self.step = 0

    def act(self, obs: Any) -> Any:  # noqa: ANN401 - the class that policies see
        seen = np.concatenate(
            [
                np.ravel(obs.mast_tilt),
                np.ravel(obs.sled_place),
                np.ravel(obs.mast_rate),
                np.ravel(obs.sled_rate),
            ]
        )
        features = [seen, np.ones(1)]
        self.step += 1
        return int(np.argmax(self.WEIGHTS @ np.concatenate(features)))
