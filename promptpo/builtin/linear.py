"""Structures that weigh what they read: linear, and linear in products of two numbers."""

from __future__ import annotations

from promptpo.builtin.acting import Acting, rows
from promptpo.builtin.spaces import Spaces, drawn
from promptpo.builtin.writing import policy, scaled

#: Weights of a policy: what CMA-ES finds in some 200,000 steps; more of them in later variants.
MOST, WIDE = 50, 150

#: A weight's bound, where what is read and what is done are both about from -1 to 1.
BOUND = 4.0


def linear(spaces: Spaces, variant: int) -> str:
    """A weight for every number that is read and every score, and a bias."""
    acting = Acting.of(spaces)
    most = WIDE if variant % 2 else MOST
    read = spaces.read(max(1, most // acting.scores - 1), variant // 2)
    weights = drawn(acting.scores * (len(read) + 1), 0.5, "linear", variant)
    constants, method = scaled(read)
    matrix = rows(weights, len(read) + 1, -BOUND, BOUND)
    act = (
        "def act(self, obs):\n"
        "    scores = WEIGHTS[:, :-1] @ self.read(obs) + WEIGHTS[:, -1]\n"
        f"    return {acting.by_scores}\n"
    )
    about = "# A row for each score, a column for each number that is read, the bias last.\n"
    return policy(
        f"Linear in {len(read)} numbers of the observation, with a bias.",
        [acting.constants, constants, f"{about}WEIGHTS = {matrix}"],
        [method, act],
    )


def quadratic(spaces: Spaces, variant: int) -> str | None:
    """Linear in numbers and in products of two of them, where they are few."""
    acting = Acting.of(spaces)
    most = WIDE if variant % 2 else MOST
    size = 1
    while acting.scores * _terms(size + 1) <= most:
        size += 1
    read = spaces.read(size, variant // 2)
    width = _terms(len(read))
    if len(read) < 2 or acting.scores * width > most:
        return None
    weights = drawn(acting.scores * width, 0.5, "quadratic", variant)
    constants, method = scaled(read)
    act = (
        "def act(self, obs):\n"
        "    x = np.append(self.read(obs), 1.0)\n"
        "    products = np.outer(x, x)[np.triu_indices(len(x))]\n"
        "    scores = WEIGHTS @ products\n"
        f"    return {acting.by_scores}\n"
    )
    about = "# A row for each score, a column for each product of two of the numbers and 1.\n"
    matrix = rows(weights, width, -BOUND, BOUND)
    return policy(
        f"Linear in {len(read)} numbers of the observation and in products of two of them.",
        [acting.constants, constants, f"{about}WEIGHTS = {matrix}"],
        [method, act],
    )


def _terms(size: int) -> int:
    return (size + 1) * (size + 2) // 2
