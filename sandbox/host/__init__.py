"""The side that is trusted: it starts the processes, asks them, and believes nothing they say.

It imports nothing of ``inside``, ``language`` and ``lockdown``, which run in those processes.
"""

from sandbox.host.host import Host, detect
from sandbox.host.lockstep import Lockstep
from sandbox.host.policy import Policy, Preparation, Seat, Summarizer
from sandbox.host.session import Program
from sandbox.host.together import Together

__all__ = [
    "Host",
    "Lockstep",
    "Policy",
    "Preparation",
    "Program",
    "Seat",
    "Summarizer",
    "Together",
    "detect",
]
