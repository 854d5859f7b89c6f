"""Run Python that nobody has reviewed: a restricted language inside a locked-down process.

    with sandbox.Host() as host, host.policy(source, interface) as policy:
        policy.reset([0, 1], seeds=[7, 8])
        actions = policy.act([0, 1], observations)

Knows of observations, actions and episodes, and of nothing else.
"""

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
from sandbox.host import Host
from sandbox.interface import Box, Discrete, Episode, Interface, Limits, MultiDiscrete
from sandbox.isolation import Isolation, detect
from sandbox.language.library import ALLOWED_IMPORTS
from sandbox.sessions import Policy, Summarizer

__all__ = [
    "ALLOWED_IMPORTS",
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
    "MemoryLimit",
    "MultiDiscrete",
    "Policy",
    "PolicyError",
    "ProcessDied",
    "ProgramError",
    "ProtocolError",
    "SandboxError",
    "SandboxFailed",
    "Summarizer",
    "TimeLimit",
    "detect",
]
