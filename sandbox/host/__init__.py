"""The side that is trusted: it starts the processes, asks them, and believes nothing they say.

It imports nothing of ``inside``, ``language`` and ``lockdown``, which run in those processes.
"""

from sandbox.host.counting import CountingPolicy
from sandbox.host.host import Host, detect
from sandbox.host.instances import Instances
from sandbox.host.policy import Policy
from sandbox.host.preparing import Preparation
from sandbox.host.session import Summarizer

__all__ = ["CountingPolicy", "Host", "Instances", "Policy", "Preparation", "Summarizer", "detect"]
