"""Run Python that nobody has reviewed: a restricted language inside a locked-down process.

    with sandbox.Host() as host, host.policy(source, interface) as policy:
        policy.begin(seed=7)
        action = policy.act(observation)

Several episodes at a time, each in a process of its own:

    program = sandbox.Program(source, interface)
    policies = [host.open(program) for seed in seeds]
    actions, errors = sandbox.Together(policies).act(observations)

Knows of observations, actions and episodes, and of nothing else.
"""

from typing import TYPE_CHECKING

from sandbox.errors import (
    BadAction,
    CompileError,
    Disturbed,
    IsolationUnavailable,
    MemoryLimit,
    PolicyError,
    ProcessDied,
    ProgramError,
    ProtocolError,
    SandboxError,
    SandboxFailed,
    TimeLimit,
)
from sandbox.interface import Box, Discrete, Episode, Interface, Limits, MultiDiscrete, Place
from sandbox.isolation import Isolation
from sandbox.libraries import ALLOWED_IMPORTS, KERNEL_VARIABLES
from sandbox.prepared import pack, prepares, unpack
from sandbox.recorded import write_recorded

if TYPE_CHECKING:
    from sandbox.host import (
        Host,
        Lockstep,
        Policy,
        Preparation,
        Program,
        Seat,
        Summarizer,
        Together,
        detect,
    )

__all__ = [
    "ALLOWED_IMPORTS",
    "KERNEL_VARIABLES",
    "BadAction",
    "Box",
    "CompileError",
    "Discrete",
    "Disturbed",
    "Episode",
    "Host",
    "Interface",
    "Isolation",
    "IsolationUnavailable",
    "Limits",
    "Lockstep",
    "MemoryLimit",
    "MultiDiscrete",
    "Place",
    "Policy",
    "PolicyError",
    "Preparation",
    "ProcessDied",
    "Program",
    "ProgramError",
    "ProtocolError",
    "SandboxError",
    "SandboxFailed",
    "Seat",
    "Summarizer",
    "TimeLimit",
    "Together",
    "detect",
    "pack",
    "prepares",
    "unpack",
    "write_recorded",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        # Loaded when first asked for: the warm parent has this package too, and nothing of `host`.
        if name not in __all__:
            raise AttributeError(f"module 'sandbox' has no attribute {name!r}")
        from sandbox import host

        return getattr(host, name)

    def __dir__() -> list[str]:
        return [*globals(), *__all__]
