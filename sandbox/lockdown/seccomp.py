"""A system call filter: what a computing process needs, and nothing else.

The program reads requests, writes replies, and manages its memory. ``EPERM`` answers calls that
libraries try in passing (opening a file, looking at the clock's zone), so that Python raises a
clean PermissionError; every other call ends the process.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from dataclasses import dataclass

from sandbox.lockdown import libc

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_EPERM = 0x00050001

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT = 0x15, 0x35, 0x45

#: Offsets into struct seccomp_data; arguments are 64 bit, low word first on both machines.
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
_X32_BIT = 0x40000000

_PROT_EXEC = 4
_MAP_ANONYMOUS = 0x20


@dataclass(frozen=True)
class _Machine:
    """Call numbers of one architecture."""

    audit: int
    read: int
    write: int
    mmap: int
    mprotect: int
    allowed: dict[str, int]
    denied: dict[str, int]
    x32: bool = False


_X86_64 = _Machine(
    audit=0xC000003E,
    read=0,
    write=1,
    mmap=9,
    mprotect=10,
    allowed={
        "munmap": 11,
        "brk": 12,
        "rt_sigreturn": 15,
        "sched_yield": 24,
        "mremap": 25,
        "madvise": 28,
        "exit": 60,
        "gettimeofday": 96,
        "time": 201,
        "futex": 202,
        "restart_syscall": 219,
        "clock_gettime": 228,
        "exit_group": 231,
        "getrandom": 318,
    },
    denied={
        "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8,
        "rt_sigaction": 13, "rt_sigprocmask": 14, "ioctl": 16, "pread64": 17, "pwrite64": 18,
        "readv": 19, "writev": 20, "access": 21, "pipe": 22, "select": 23, "dup": 32, "dup2": 33,
        "nanosleep": 35, "getpid": 39, "socket": 41, "connect": 42, "uname": 63, "fcntl": 72,
        "ftruncate": 77, "getdents": 78, "getcwd": 79, "chdir": 80, "rename": 82, "mkdir": 83,
        "rmdir": 84, "creat": 85, "link": 86, "unlink": 87, "symlink": 88, "readlink": 89,
        "chmod": 90, "chown": 92, "getrlimit": 97, "getrusage": 98, "sysinfo": 99, "getuid": 102,
        "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110, "sigaltstack": 131,
        "gettid": 186, "sched_setaffinity": 203, "sched_getaffinity": 204, "getdents64": 217,
        "clock_getres": 229, "clock_nanosleep": 230, "openat": 257, "mkdirat": 258,
        "newfstatat": 262, "unlinkat": 263, "renameat": 264, "linkat": 265, "symlinkat": 266,
        "readlinkat": 267, "faccessat": 269, "dup3": 292, "pipe2": 293, "prlimit64": 302,
        "getcpu": 309, "memfd_create": 319, "statx": 332, "openat2": 437, "faccessat2": 439,
    },
    x32=True,
)  # fmt: skip

_AARCH64 = _Machine(
    audit=0xC00000B7,
    read=63,
    write=64,
    mmap=222,
    mprotect=226,
    allowed={
        "munmap": 215,
        "brk": 214,
        "rt_sigreturn": 139,
        "sched_yield": 124,
        "mremap": 216,
        "madvise": 233,
        "exit": 93,
        "gettimeofday": 169,
        "futex": 98,
        "restart_syscall": 128,
        "clock_gettime": 113,
        "exit_group": 94,
        "getrandom": 278,
    },
    denied={
        "getcwd": 17, "dup": 23, "dup3": 24, "fcntl": 25, "ioctl": 29, "mkdirat": 34,
        "unlinkat": 35, "symlinkat": 36, "linkat": 37, "renameat": 38, "ftruncate": 46,
        "faccessat": 48, "chdir": 49, "fchmodat": 53, "openat": 56, "close": 57, "pipe2": 59,
        "getdents64": 61, "lseek": 62, "readv": 65, "writev": 66, "pread64": 67, "pwrite64": 68,
        "pselect6": 72, "ppoll": 73, "readlinkat": 78, "newfstatat": 79, "fstat": 80,
        "nanosleep": 101, "clock_getres": 114, "clock_nanosleep": 115, "sched_setaffinity": 122,
        "sched_getaffinity": 123, "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135,
        "uname": 160, "getrlimit": 163, "getrusage": 165, "getcpu": 168, "getpid": 172,
        "getppid": 173, "getuid": 174, "geteuid": 175, "getgid": 176, "getegid": 177,
        "gettid": 178, "sysinfo": 179, "socket": 198, "connect": 203, "prlimit64": 261,
        "memfd_create": 279, "statx": 291, "openat2": 437, "faccessat2": 439,
    },
)  # fmt: skip

_MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}


def _statement(code: int, value: int, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, true, false, value)


def _low_word(index: int) -> int:
    return _ARGUMENTS + 8 * index


def _only_descriptor(number: int, descriptor: int) -> list[bytes]:
    """Allow call ``number`` on one file descriptor, kill it on others."""
    return [
        _statement(_JUMP_EQUAL, number, 0, 4),
        _statement(_LOAD, _low_word(0)),
        _statement(_JUMP_EQUAL, descriptor, 0, 1),
        _statement(_RETURN, _ALLOW),
        _statement(_RETURN, _EPERM),
    ]


def _memory_rules(machine: _Machine) -> list[bytes]:
    """Anonymous, never executable."""
    return [
        _statement(_JUMP_EQUAL, machine.mmap, 0, 6),
        _statement(_LOAD, _low_word(2)),
        _statement(_JUMP_ANY_BIT, _PROT_EXEC, 3, 0),
        _statement(_LOAD, _low_word(3)),
        _statement(_JUMP_ANY_BIT, _MAP_ANONYMOUS, 0, 1),
        _statement(_RETURN, _ALLOW),
        _statement(_RETURN, _EPERM),
        _statement(_JUMP_EQUAL, machine.mprotect, 0, 4),
        _statement(_LOAD, _low_word(2)),
        _statement(_JUMP_ANY_BIT, _PROT_EXEC, 1, 0),
        _statement(_RETURN, _ALLOW),
        _statement(_RETURN, _EPERM),
    ]


def build(read_fd: int, write_fd: int) -> bytes | None:
    """The filter program for this machine, or None where its call table is not known."""
    machine = _MACHINES.get(platform.machine())
    if machine is None or sys.platform != "linux" or struct.calcsize("P") != 8:
        return None
    code = [
        _statement(_LOAD, _ARCH),
        _statement(_JUMP_EQUAL, machine.audit, 1, 0),
        _statement(_RETURN, _KILL),
        _statement(_LOAD, _NUMBER),
    ]
    if machine.x32:
        code += [_statement(_JUMP_AT_LEAST, _X32_BIT, 0, 1), _statement(_RETURN, _KILL)]
    code += _only_descriptor(machine.read, read_fd)
    code += _only_descriptor(machine.write, write_fd)
    code += _memory_rules(machine)
    for numbers, verdict in ((machine.allowed, _ALLOW), (machine.denied, _EPERM)):
        for number in numbers.values():
            code += [_statement(_JUMP_EQUAL, number, 0, 1), _statement(_RETURN, verdict)]
    return b"".join([*code, _statement(_RETURN, _KILL)])


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def install(program: bytes) -> None:
    """Put the filter in force; needs no_new_privs.

    Raises:
        OSError: the kernel refused.
    """
    libc.prctl(libc.PR_SET_SECCOMP, 2, _Program(len(program) // 8, program), what="seccomp filter")
