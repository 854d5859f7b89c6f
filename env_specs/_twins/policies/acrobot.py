"""Reference of twin:acrobot: mean return -161.3, found in 5e+05 steps.

python benchmarks/twin_references.py acrobot --steps 5e5 --step 0.1 --noise 0.2 --processes 1
"""

from typing import Any

import numpy as np


class Policy:
    """Linear in what is observed."""

    WEIGHTS = np.array(
        [
            [
                0.0590524,
                0.490812,
                -0.163161,
                0.101573,
                0.494448,
                0.103937,
                0.0786522,
            ],
            [
                0.0284653,
                -0.22669,
                0.0457753,
                0.107026,
                0.319153,
                0.310664,
                -1.05435,
            ],
            [
                -0.0170304,
                -1.4854,
                0.258173,
                -0.250334,
                -0.327455,
                0.239302,
                -0.0210817,
            ],
        ]
    )

    def __init__(self) -> None:
        self.step = 0

    def act(self, obs: Any) -> Any:  # noqa: ANN401 - the class that policies see
        seen = np.concatenate(
            [
                np.ravel(obs.cos_outer),
                np.ravel(obs.sin_outer),
                np.ravel(obs.outer_rate),
                np.ravel(obs.inner_rate),
                np.ravel(obs.sin_inner),
                np.ravel(obs.cos_inner),
            ]
        )
        features = [seen, np.ones(1)]
        self.step += 1
        return int(np.argmax(self.WEIGHTS @ np.concatenate(features)))
