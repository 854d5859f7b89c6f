"""One sandboxed process as the host holds it: its clock, its end, and what that end says."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from sandbox.errors import IsolationUnavailable, ProcessDied, SandboxError, SandboxFailed
from sandbox.host.clock import ProcessClock
from sandbox.host.exit_status import exit_error, silence_error
from sandbox.isolation import NOT_STRICT

#: How long a process that has closed its pipes may take to end by itself, in seconds.
_ENDING = 5.0


class Process:
    """A process that is to be killed and reaped."""

    def __init__(
        self,
        pid: int,
        pidfd: int,
        reap: Callable[[int], int],
        forget: Callable[[int], None],
        out_of_memory: Callable[[], bool] = lambda: False,
    ) -> None:
        """Take over a process.

        Args:
            pid: of the process, leader of its group.
            pidfd: of the process, or -1.
            reap: gives the wait status of the ended process; raises SandboxFailed.
            forget: told of a process that was killed and whose wait status nobody wants.
            out_of_memory: whether the kernel has ended processes for want of memory.
        """
        self.pid = pid
        self.pidfd = pidfd
        self._reap = reap
        self._forget = forget
        self._out_of_memory = out_of_memory
        self.clock = ProcessClock(pid)
        self.alive = True

    def kill(self) -> None:
        """End the process and its group; its memory may be freed a moment later."""
        if self.alive:
            self._signal()
            self._forget(self.pid)

    def died(self, what: str, has_program: bool) -> SandboxError:
        """The error for a process that has closed its pipe in the call ``what``.

        Before it is given a program, and only then, it is believed about protections.
        """
        own = self._ends_by_itself()
        try:
            code = os.waitstatus_to_exitcode(self._finish())
        except SandboxFailed as error:
            return error
        if not own and code == -signal.SIGKILL:
            return ProcessDied(f"the process of the program closed its pipe in {what}")
        if code == NOT_STRICT and not has_program:
            return IsolationUnavailable("a process could not be locked down as strictly as asked")
        return exit_error(code, what, self._out_of_memory())

    def silent(self, what: str, allowed: float) -> SandboxError:
        """The error for a process that has not answered; it is killed."""
        error = silence_error(self.pid, what, allowed)
        self.kill()
        return error

    def _finish(self) -> int:
        """Kill it, whether it has ended or not, and return the wait status."""
        self._signal()
        return self._reap(self.pid)

    def _ends_by_itself(self) -> bool:
        if self.pidfd < 0:
            time.sleep(0.05)
            return False
        ending = select.poll()  # select() would fail where there are over 1024 descriptors
        ending.register(self.pidfd, select.POLLIN)
        return bool(ending.poll(_ENDING * 1000))

    def _signal(self) -> None:
        self.alive = False
        try:
            if self.pidfd >= 0:
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)
            with suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return  # its parent is gone, and it was reaped: the number may be another's by now
        finally:
            if self.pidfd >= 0:
                os.close(self.pidfd)
