"""A system call filter: what a computing process needs, and nothing else.

The program reads requests, writes replies, and manages its memory. ``EPERM`` answers calls that
libraries try in passing (opening a file, looking at a clock), so that Python raises a clean
PermissionError; every other call ends the process.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from dataclasses import dataclass
from typing import NamedTuple

from sandbox.lockdown import kernel

_ALLOW, _KILL, _EPERM = 0x7FFF0000, 0x80000000, 0x00050001

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP_EQUAL, _JUMP_ANY_BIT = 0x15, 0x45

#: Offsets into struct seccomp_data; arguments are 64 bit, low word first on both machines.
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16

#: What arguments may be. Kernels look at the low word of each of these.
_READ_OR_WRITE, _PRIVATE_ANONYMOUS = 0x3, 0x22
_NO_MATTER = 0x4000 | 0x20000  # MAP_NORESERVE, MAP_STACK
_MAY_MOVE = 0x1
_ADVICE = (4, 14)  # MADV_DONTNEED; MADV_HUGEPAGE, without which numpy's large arrays are slow
_WAKE_PRIVATE = 0x81
_PROCESSOR_TIME = 2  # of the process itself: where it is limited, it advances by whole ticks

_WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class _Machine:
    """Call numbers of one architecture."""

    audit: int
    checked: dict[str, int]
    allowed: dict[str, int]
    denied: dict[str, int]


_X86_64 = _Machine(
    audit=0xC000003E,
    checked={
        "read": 0, "write": 1, "mmap": 9, "mprotect": 10, "mremap": 25, "madvise": 28,
        "futex": 202, "clock_gettime": 228,
    },
    allowed={
        "munmap": 11, "brk": 12, "rt_sigreturn": 15, "exit": 60, "exit_group": 231,
        "getrandom": 318,
    },
    denied={
        "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8,
        "rt_sigaction": 13, "rt_sigprocmask": 14, "ioctl": 16, "pread64": 17, "pwrite64": 18,
        "readv": 19, "writev": 20, "access": 21, "pipe": 22, "select": 23, "sched_yield": 24,
        "dup": 32, "dup2": 33, "nanosleep": 35, "getpid": 39, "socket": 41, "connect": 42,
        "uname": 63, "fcntl": 72, "ftruncate": 77, "getdents": 78, "getcwd": 79, "chdir": 80,
        "rename": 82, "mkdir": 83, "rmdir": 84, "creat": 85, "link": 86, "unlink": 87,
        "symlink": 88, "readlink": 89, "chmod": 90, "chown": 92, "gettimeofday": 96,
        "getrlimit": 97, "getrusage": 98, "sysinfo": 99, "getuid": 102, "getgid": 104,
        "geteuid": 107, "getegid": 108, "getppid": 110, "sigaltstack": 131, "gettid": 186,
        "time": 201, "sched_setaffinity": 203, "sched_getaffinity": 204, "getdents64": 217,
        "clock_getres": 229, "clock_nanosleep": 230, "mbind": 237, "openat": 257, "mkdirat": 258,
        "newfstatat": 262, "unlinkat": 263, "renameat": 264, "linkat": 265, "symlinkat": 266,
        "readlinkat": 267, "faccessat": 269, "dup3": 292, "pipe2": 293, "prlimit64": 302,
        "getcpu": 309, "memfd_create": 319, "statx": 332, "openat2": 437, "faccessat2": 439,
    },
)  # fmt: skip

_AARCH64 = _Machine(
    audit=0xC00000B7,
    checked={
        "read": 63, "write": 64, "mmap": 222, "mprotect": 226, "mremap": 216, "madvise": 233,
        "futex": 98, "clock_gettime": 113,
    },
    allowed={
        "munmap": 215, "brk": 214, "rt_sigreturn": 139, "exit": 93, "exit_group": 94,
        "getrandom": 278,
    },
    denied={
        "getcwd": 17, "dup": 23, "dup3": 24, "fcntl": 25, "ioctl": 29, "mkdirat": 34,
        "unlinkat": 35, "symlinkat": 36, "linkat": 37, "renameat": 38, "ftruncate": 46,
        "faccessat": 48, "chdir": 49, "fchmodat": 53, "openat": 56, "close": 57, "pipe2": 59,
        "getdents64": 61, "lseek": 62, "readv": 65, "writev": 66, "pread64": 67, "pwrite64": 68,
        "pselect6": 72, "ppoll": 73, "readlinkat": 78, "newfstatat": 79, "fstat": 80,
        "nanosleep": 101, "clock_getres": 114, "clock_nanosleep": 115, "sched_setaffinity": 122,
        "sched_getaffinity": 123, "sched_yield": 124, "sigaltstack": 132, "rt_sigaction": 134,
        "rt_sigprocmask": 135, "uname": 160, "getrlimit": 163, "getrusage": 165, "getcpu": 168,
        "gettimeofday": 169, "getpid": 172, "getppid": 173, "getuid": 174, "geteuid": 175,
        "getgid": 176, "getegid": 177, "gettid": 178, "sysinfo": 179, "socket": 198, "connect": 203,
        "mbind": 235, "prlimit64": 261, "memfd_create": 279, "statx": 291, "openat2": 437,
        "faccessat2": 439,
    },
)  # fmt: skip

_MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}


class _Step(NamedTuple):
    """One instruction; jumps lead to a verdict, or over so many instructions."""

    code: int
    value: int
    true: int = 0
    false: int = 0


def _argument(index: int) -> _Step:
    return _Step(_LOAD, _ARGUMENTS + 8 * index)


def _is_one_of(index: int, *values: int) -> list[_Step]:
    """Allow a call whose argument is one of these."""
    others, last = values[:-1], values[-1]
    steps = [_Step(_JUMP_EQUAL, value, _ALLOW) for value in others]
    return [_argument(index), *steps, _Step(_JUMP_EQUAL, last, _ALLOW, _EPERM)]


def _has_only(index: int, bits: int) -> list[_Step]:
    """Allow a call whose argument has no other bit."""
    return [_argument(index), _Step(_JUMP_ANY_BIT, _WORD & ~bits, _EPERM, _ALLOW)]


def _checks(read_fd: int, write_fd: int) -> dict[str, list[_Step]]:
    """For each call what its arguments may be; the most frequent first.

    Memory is private, anonymous and never executable. A futex is the process's own (others are
    found by the file behind a page, which may be any library's), and none waits, since a time limit
    tells the time. The clock is that of its own processor time; a negative number would be the
    clock of another process. Of the advice about memory there is what concerns nobody else.
    """
    no_code = _Step(_JUMP_ANY_BIT, _WORD & ~_READ_OR_WRITE, _EPERM)
    flags = _argument(3), _Step(_AND, _WORD & ~_NO_MATTER)
    private = _Step(_JUMP_EQUAL, _PRIVATE_ANONYMOUS, _ALLOW, _EPERM)
    return {
        "read": _is_one_of(0, read_fd),
        "write": _is_one_of(0, write_fd),
        "mmap": [_argument(2), no_code, *flags, private],
        "mprotect": _has_only(2, _READ_OR_WRITE),
        "mremap": _has_only(3, _MAY_MOVE),
        "madvise": _is_one_of(2, *_ADVICE),
        "futex": _is_one_of(1, _WAKE_PRIVATE),
        "clock_gettime": _is_one_of(0, _PROCESSOR_TIME),
    }


def build(read_fd: int, write_fd: int) -> bytes | None:
    """Return the filter program for this machine, or None where its call table is not known."""
    machine = _MACHINES.get(platform.machine())
    if machine is None or sys.platform != "linux" or struct.calcsize("P") != 8:
        return None
    steps = [
        _Step(_LOAD, _ARCH),
        _Step(_JUMP_EQUAL, machine.audit, 0, _KILL),
        _Step(_LOAD, _NUMBER),
    ]
    for name, check in _checks(read_fd, write_fd).items():
        steps += [_Step(_JUMP_EQUAL, machine.checked[name], 0, len(check)), *check]
    for numbers, verdict in ((machine.allowed, _ALLOW), (machine.denied, _EPERM)):
        steps += [_Step(_JUMP_EQUAL, number, verdict) for number in numbers.values()]
    return _assembled(steps)


def _assembled(steps: list[_Step]) -> bytes:
    """Return the program: what no step decides ends the process."""
    verdicts = (_KILL, _ALLOW, _EPERM)
    code = []
    for index, step in enumerate(steps):
        left = len(steps) - index - 1
        true, false = (
            left + verdicts.index(to) if to in verdicts else to for to in (step.true, step.false)
        )
        code.append(struct.pack("<HBBI", step.code, true, false, step.value))
    code += [struct.pack("<HBBI", _RETURN, 0, 0, verdict) for verdict in verdicts]
    return b"".join(code)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def install(program: bytes) -> None:
    """Put the filter in force; needs no_new_privs.

    Raises:
        OSError: the kernel refused.
    """
    filters = _Program(len(program) // 8, program)
    kernel.prctl(kernel.PR_SET_SECCOMP, 2, filters, what="seccomp filter")
