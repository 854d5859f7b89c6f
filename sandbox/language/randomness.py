"""``np.random`` and ``random`` for one episode each, and a clock that no machine can disturb.

Episodes run in lockstep inside one process. Were their generators shared, results would depend on
how many run together; so each episode has its own, seeded by its seed, and whatever asks for a
generator without naming a seed gets one that is derived from it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from sandbox.language import names
from sandbox.language.classes import stand_in
from sandbox.language.facades import Facade, facade
from sandbox.language.mersenne import state_setter

_NUMPY_FUNCTIONS = names.words(
    """
    beta binomial bytes chisquare choice dirichlet exponential f gamma geometric gumbel
    hypergeometric laplace logistic lognormal logseries multinomial multivariate_normal
    negative_binomial noncentral_chisquare noncentral_f normal pareto permutation poisson power
    rand randint randn random random_sample rayleigh seed shuffle standard_cauchy
    standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises
    wald weibull zipf get_state set_state
"""
)
_NUMPY_ALIASES = {"ranf": "random_sample", "sample": "random_sample"}
_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")

_RANDOM_FUNCTIONS = names.words(
    """
    betavariate binomialvariate choice choices expovariate gammavariate gauss getrandbits
    lognormvariate normalvariate paretovariate randbytes randint random randrange sample seed
    shuffle triangular uniform vonmisesvariate weibullvariate getstate setstate
"""
)


def _named(kind: type) -> type:
    """To be called and looked for; nothing inherits from it."""
    return stand_in(kind, kind)


#: What makes generators; without a seed they get one from the slot that runs (``roots``).
_MAKERS: dict[str, object] = {
    **{name: _named(getattr(np.random, name)) for name in (*_BIT_GENERATORS, "RandomState")},
    "default_rng": np.random.default_rng,
    "Generator": np.random.Generator,
    "SeedSequence": np.random.SeedSequence,
}
_RANDOM = _named(random.Random)


class Randomness:
    """The random numbers of one slot; ``seed`` starts them anew."""

    def __init__(self, seed: int) -> None:
        """Generators are made when they are first asked for: most programs need none."""
        self._words: list[int] = []
        self._state: np.random.RandomState | None = None
        self._own: random.Random | None = None
        self._sequence: np.random.SeedSequence | None = None
        self._ticks = self._count = 0
        #: Numbers of objects by address; the objects are kept, so that it stays theirs.
        self._numbers: dict[int, tuple[int, object]] = {}
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start all generators from ``seed`` (a non-negative integer below 2**64)."""
        self._words = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
        self._sequence = None
        if self._state is not None:
            self._state.seed(self._words)
        if self._own is not None:
            self._own.seed(seed)

    def _derived(self) -> np.random.SeedSequence:
        if self._sequence is None:
            self._sequence = np.random.SeedSequence(self._words)
        return self._sequence.spawn(1)[0]

    def bits(self, count: int) -> int:
        """What the operating system's ``count`` random bits would be."""
        words = self._derived().generate_state(count // 32 + 1)
        return int.from_bytes(words.tobytes(), "little") % (1 << count)

    def tick(self, milliseconds: int = 1) -> int:
        """Let the clock advance; returns what it shows then, in milliseconds."""
        self._ticks += milliseconds
        return self._ticks

    def number(self, obj: object) -> int:
        """A number for an object that says nothing of its address."""
        numbered = self._numbers.get(id(obj))
        if numbered is None:
            numbered = self._numbers[id(obj)] = self.next_number(), obj
        return numbered[0]

    def next_number(self) -> int:
        """A number that no object has yet."""
        self._count += 1
        return self._count

    @property
    def state(self) -> np.random.RandomState:
        """The generator behind the functions of ``numpy.random``."""
        if self._state is None:
            self._state = np.random.RandomState(self._words)
        return self._state

    @property
    def python(self) -> random.Random:
        """The generator behind the functions of ``random``."""
        if self._own is None:
            low, high = self._words
            self._own = random.Random(low | high << 32)  # noqa: S311 - repeatable numbers
        return self._own

    def numpy_random(self) -> Facade:
        """The stand-in for ``numpy.random``."""
        state = self.state
        members: dict[str, Any] = {name: getattr(state, name) for name in _NUMPY_FUNCTIONS}
        members |= {alias: members[name] for alias, name in _NUMPY_ALIASES.items()}
        members["set_state"] = state_setter(state)
        return facade("numpy.random", {**members, **_MAKERS})

    def python_random(self) -> Facade:
        """The stand-in for ``random``."""
        own = self.python
        members: dict[str, Any] = {
            name: getattr(own, name) for name in _RANDOM_FUNCTIONS if hasattr(own, name)
        }
        return facade("random", {**members, "Random": _RANDOM})

    def clock(self) -> Facade:
        """The stand-in for ``time``."""
        return facade("time", clocks(lambda: self))


#: Readings of a clock.
CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")


def clocks(find: Callable[[], Randomness]) -> dict[str, Callable[..., object]]:
    """The functions of ``time``, for whom ``find`` tells.

    Clocks advance a millisecond each time they are read, the same everywhere.
    """

    def seconds() -> float:
        return find().tick() / 1000

    def nanoseconds() -> int:
        return find().tick() * 1_000_000

    def sleep(duration: float) -> None:
        find().tick(max(0, int(duration * 1000)))

    return {
        **dict.fromkeys(CLOCKS, seconds),
        **dict.fromkeys([f"{name}_ns" for name in CLOCKS], nanoseconds),
        "sleep": sleep,
    }
