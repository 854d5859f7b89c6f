"""The process layer: from a forked copy of the warm parent to a process that can only compute.

``Preparation`` happens once, in the parent; ``apply`` happens in every forked child before it looks
at the program. Each step reports "on" or why not; what is missing decides the level (see
``sandbox.isolation``).
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

from sandbox.lockdown import identity, kernel, seccomp

#: Where the two pipes are in the child.
READ_FD, WRITE_FD = 3, 4

#: The parent has only a few descriptors, all of them below this.
HIGHEST_FD = 4096

_NOT_LINUX = "a Linux facility"


@dataclass
class Preparation:
    """Facts and descriptors that all children share; ``network`` is "on" or why it is not.

    ``uid``: of the next child.
    """

    highest: identity.Highest
    network: str
    process_ids: int | None
    process_ids_missing: str
    uids: range | None
    root: int | None
    ruleset: int | None
    ruleset_missing: str
    program: bytes | None
    uid: int = 0

    @classmethod
    def make(cls) -> Preparation:
        """Enter namespaces and prepare what all children share. One thread only."""
        identity.prefer_for_oom_killer()
        identity.merge_no_pages()
        # First: inside a user namespace without a mapping no file can be made.
        root = _out_of_the_way(identity.open_empty_root())
        network = identity.leave_namespaces()
        ruleset, missing = None, _NOT_LINUX
        if kernel.LINUX:
            try:
                ruleset = _out_of_the_way(kernel.deny_everything())
            except OSError as error:
                missing = f"this kernel offers none ({error.strerror})"
        process_ids, process_ids_missing = None, _NOT_LINUX
        if kernel.LINUX:
            try:
                process_ids = _out_of_the_way(kernel.leave_process_ids())
            except OSError as error:
                process_ids_missing = f"refused here ({error.strerror})"
        return cls(
            highest=identity.Highest.now(),
            network=network,
            process_ids=process_ids,
            process_ids_missing=process_ids_missing,
            uids=identity.free_uids(),
            root=root,
            ruleset=ruleset,
            ruleset_missing=missing,
            program=seccomp.build(READ_FD, WRITE_FD),
        )

    def fork(self) -> int:
        """Fork, where possible into a process id namespace of the child's own; 0 in the child."""
        if self.uids is not None:  # drawn here: what a child touches first costs it a page
            self.uid = identity.any_of(self.uids)
        return os.fork() if self.process_ids is None else kernel.fork(self.process_ids)


def _out_of_the_way(descriptor: int) -> int:
    """Return a copy with a number that the pipes will not take."""
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, WRITE_FD + 1)


def move_pipes(read_fd: int, write_fd: int) -> None:
    """Put the pipes at their places and close 0, 1 and 2."""
    reader, writer = _out_of_the_way(read_fd), _out_of_the_way(write_fd)
    os.dup2(reader, READ_FD)
    os.dup2(writer, WRITE_FD)
    for fd in (0, 1, 2):
        try:
            os.close(fd)
        except OSError:
            continue


def apply(preparation: Preparation, parent: int, memory: int, cpu_seconds: float) -> dict[str, str]:
    """Lock this process down for good.

    Args:
        preparation: the parent's.
        parent: process id of the parent, with which this process shall die.
        memory: bytes that may be added to what is in use now.
        cpu_seconds: processor time.

    Returns:
        For each protection "on" or why not.
    """
    report: dict[str, str] = {}

    def attempt(name: str, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            report[name] = str(error.strerror or error)
        else:
            report[name] = "on"

    # No session of its own: the kernel takes milliseconds to make one.
    attempt("own process group", lambda: os.setpgid(0, 0))
    attempt("resource limits", lambda: preparation.highest.limit(memory, cpu_seconds))
    _change_identity(preparation, attempt, report)
    if kernel.LINUX:
        attempt("no new privileges", lambda: kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1))
        attempt("not traceable", lambda: kernel.prctl(kernel.PR_SET_DUMPABLE, 0))
        attempt("dies with its parent", lambda: _die_with(parent))
    else:
        report |= dict.fromkeys(("no new privileges", "dies with its parent"), _NOT_LINUX)
    ruleset = preparation.ruleset
    if ruleset is None:
        report["Landlock"] = preparation.ruleset_missing
    else:
        attempt("Landlock", lambda: kernel.enforce_landlock(ruleset))
    attempt("closed descriptors", lambda: os.closerange(WRITE_FD + 1, HIGHEST_FD))
    program = preparation.program
    if program is None:
        report["seccomp"] = "no call table for this system"
    else:
        attempt("seccomp", lambda: seccomp.install(program))
    return report


def _change_identity(
    preparation: Preparation,
    attempt: Callable[[str, Callable[[], object]], None],
    report: dict[str, str],
) -> None:
    root = preparation.root
    if root is not None:
        attempt("empty root directory", lambda: identity.enter_root(root))
    report["own network namespace"] = preparation.network
    report["own process ids"] = "on" if os.getpid() == 1 else preparation.process_ids_missing
    if preparation.uid:
        attempt("own user id", lambda: identity.become(preparation.uid))
    else:
        report["own user id"] = "only root can change it"
    report["unprivileged user"] = "on" if os.geteuid() != 0 else "it runs as root"
    if kernel.LINUX:
        attempt("no capabilities", identity.drop_capabilities)
    else:
        report["no capabilities"] = report["unprivileged user"]


def _die_with(parent: int) -> None:
    # A change of credentials clears this signal, so it is set after them.
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    # Who is outside of the namespace has the number 0 in it.
    if os.getppid() not in (parent, 0):
        raise OSError("the parent is gone")
