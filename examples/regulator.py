"""Broomstick, CartPole's twin, by a regulator on a model that ``prepare`` fits to the probes.

Nothing of the body is known beforehand, nor which way a force pushes. docs/learning.md runs it.
"""

import numpy as np

FIELDS = ("sled_place", "sled_rate", "mast_tilt", "mast_rate")


def prepare(data):
    """Next state = A state + B push, by least squares; the gain by iterating Riccati's equation."""
    order = [data.columns[name] for name in FIELDS]
    state, following = data.observations[:, order], data.next_observations[:, order]
    push = 2.0 * data.actions - 1.0
    model, _, rank, _ = np.linalg.lstsq(np.hstack([state, push]), following, rcond=None)
    a, b = model[:4].T, model[4:].T
    residual = np.abs(state @ a.T + push @ b.T - following).max()

    cost = np.diag([0.1, 0.1, 10.0, 1.0])
    value = cost
    for _ in range(500):
        gain = np.linalg.solve(b.T @ value @ b + 0.1, b.T @ value @ a)
        value = cost + a.T @ value @ (a - b @ gain)
    steady = np.abs(np.linalg.eigvals(a - b @ gain)).max()

    print(f"{len(state)} transitions, rank {rank} of 5, largest residual {residual:.1e}")
    print(f"B {b[:, 0].round(4)}, gain {gain[0].round(2)}, largest eigenvalue {steady:.3f}")
    return {"gain": gain[0], "predicted_return": 500.0 if steady < 1.0 else 0.0}


class Policy:
    """Pushes whichever way the regulator's force points."""

    def __init__(self, prepared):
        self.gain = prepared["gain"]

    def act(self, obs):
        state = np.array([getattr(obs, name) for name in FIELDS])
        return int(self.gain @ state < 0)
