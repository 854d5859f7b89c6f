"""Jobs in the sandbox, done again where it was the sandbox that failed and not the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from promptpo.errors import IsolationError

T = TypeVar("T")
#: How often a job is begun at most: when the sandbox fails, and when something outside kills or
#: stops the program's process.
_TRIES, _DISTURBED = 3, 2


def steadily(job: Callable[[], T], disturbed: Callable[[T], bool] = lambda _: False) -> T:
    """Do a job, from its beginning again where the program is not at fault.

    A sandbox that fails again and again ends the run, which can be resumed, and never the program:
    no program should be able to bring that about, so if one does, somebody has to look before
    anything else is run.

    Args:
        job: what is done.
        disturbed: whether its result says the same as ``sandbox.Disturbed``.

    Raises:
        IsolationError: the sandbox does not work, or not as strictly as asked.
        sandbox.ProgramError: the program failed.
        sandbox.Disturbed: something outside ended its process, for the second time.
    """
    import sandbox

    failures = disturbances = 0
    while True:
        try:
            result = job()
            disturbances += 1
            if disturbances == _DISTURBED or not disturbed(result):
                return result
        except sandbox.Disturbed:
            disturbances += 1
            if disturbances == _DISTURBED:
                raise
        except sandbox.SandboxFailed as e:
            failures += 1
            if failures == _TRIES:
                raise IsolationError(
                    f"the sandbox failed {failures} times in a row: {e.message};"
                    " resume when it is clear why"
                ) from None
        except sandbox.IsolationUnavailable as e:
            raise IsolationError(str(e)) from None
