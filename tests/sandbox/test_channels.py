"""What one locked-down process could tell another, or a later one: a test for each channel.

All run machine code, or ordinary Python with ctypes, on the process layer alone.
"""

import errno
import json
import platform
import re
import signal
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from acting import ONE, indented, policy
from raw_process import RawProcesses
from raw_program import ACT, INTERFACE, PAGES, opened, raw
from restricted import programs

import sandbox
from sandbox import Host, Limits, Together, detect
from sandbox.lockdown import seccomp

MACHINE = seccomp._MACHINES.get(platform.machine())
pytestmark = pytest.mark.skipif(
    MACHINE is None or detect().level != "strict", reason="needs strict isolation"
)
NUMBERS = {**MACHINE.checked, **MACHINE.allowed, **MACHINE.denied} if MACHINE else {}
x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="instructions of x86-64")
DENIED = [*MACHINE.denied.values()] if MACHINE else []
REFUSED = -errno.EPERM
LIMITS = Limits(act_seconds=5, memory_mb=256)


def children(host):
    parent = host.parent_pid
    return Path(f"/proc/{parent}/task/{parent}/children").read_text().split()


@pytest.fixture(scope="module")
def attack(host, tmp_path_factory):
    """What the bodies of ``attack`` give, at the same time, each in a process of its own.

    A file is mapped there. The test fails where a process ends.
    """
    path = tmp_path_factory.mktemp("shared") / "data"
    path.write_bytes(PAGES)
    names = {"PARENT": host.parent_pid, **{f"NR_{name}": n for name, n in NUMBERS.items()}}

    def attack(*bodies):
        texts = [f"def attack():\n{indented(body, 4)}{ACT}" for body in bodies]
        with path.open("rb") as file:
            made = [raw(text, names, INTERFACE, LIMITS) for text in texts]
            processes = [opened(host, program, file.fileno()) for program in made]
        _, errors = Together(processes).act(np.zeros((len(bodies), 3)))
        assert not errors, errors
        told = [eval(one.output.removeprefix("returned ")) for one in processes]  # noqa: S307
        for one in processes:
            one.close()
        return told if len(told) > 1 else told[0]

    return attack


SPACE = "space = (ctypes.c_long * 2)(1, 0)\nat = ctypes.addressof(space)\n"
MAPPED = "pages = result(NR_mmap, 0, 4096, 3, 0x22, -1, 0)\n"
#: What a process asks of the kernel, and what it is told.
ASKED = {
    # Some operations take the process id of an owner and tell whether there is one, or the time.
    "no_operation_on_a_futex_but_waking_oneself": (
        SPACE
        + "return [op for op in range(512) if result(NR_futex, at, op, 1, 0, at, 0) != REFUSED]",
        [0x81],
    ),
    "no_processor_time_of_another_process": (
        SPACE
        + "ids = [(~pid << 3) | kind for pid in (PARENT, 1, 0) for kind in (0, 1, 2, 4, 5, 6)]\n"
        "return {result(NR_clock_gettime, n, at) for n in ids}",
        {REFUSED},
    ),
    "no_clock_but_that_of_its_own_processor_time": (
        SPACE + "return [n for n in range(-64, 64) if result(NR_clock_gettime, n, at) != REFUSED]",
        [2],
    ),
    "processor_time_advances_by_whole_ticks": (
        SPACE + "readings = [(result(NR_clock_gettime, 2, at), space[1]) for _ in range(2000)]\n"
        "return len({*readings}) < 200",
        True,
    ),
    # Huge pages are a pool of all; locked and droppable pages tell of the machine's memory.
    "no_memory_but_private_memory_of_no_file": (
        "def given(kind):\n"
        "    flags = [kind] + [kind | 0x20 | 1 << bit for bit in range(31)]\n"
        "    return {f for f in flags if result(NR_mmap, 0, 4096, 3, f, -1, 0) > 0}\n"
        "return given(mmap.MAP_SHARED), given(mmap.MAP_PRIVATE)",
        (set(), {0x22, 0x22 | 0x4000, 0x22 | 0x20000}),
    ),
    "no_memory_becomes_executable": (
        MAPPED + "bits = [p for p in range(32) if result(NR_mprotect, pages, 4096, p) == 0]\n"
        "return bits, [p for p in range(32) if result(NR_mmap, 0, 4096, p, 0x22, -1, 0) > 0]",
        ([0, 1, 2, 3], [0, 1, 2, 3]),
    ),
    "no_advice_that_concerns_other_processes": (
        MAPPED + "told = {a: result(NR_madvise, pages, 4096, a) for a in range(-1, 256)}\n"
        "return [a for a, answer in told.items() if answer != REFUSED]",
        [4, 14],
    ),
    "no_memory_moves_to_a_place_of_choice": (
        MAPPED + "to = result(NR_mmap, 0, 4096, 3, 0x22, -1, 0)\n"
        "return {result(NR_mremap, pages, 4096, 4096, flags, to) for flags in range(2, 16)}",
        {REFUSED},
    ),
    "calls_that_are_refused_do_nothing": (
        f"return {{result(n, *[-1] * 6) for n in {DENIED}}}",
        {REFUSED},
    ),
}


@pytest.mark.parametrize("title", ASKED)
def test_what_the_kernel_tells(attack, title):
    body, told = ASKED[title]
    assert attack(f"REFUSED = {REFUSED}\n{body}") == told


def test_no_process_waits_for_another_on_a_shared_page(attack):
    shared = "places = address(), ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~3\n"
    waiter = "return [result(NR_futex, place, 0, 0, at, 0, 0) for place in places]"
    waker = "end, woken = time.process_time() + 0.3, 0\nwhile time.process_time() < end:\n"
    waker += "    woken += sum(max(0, result(NR_futex, place, 1, 99)) for place in places)\n"

    told = attack(SPACE + shared + waiter, shared + waker + "return woken")

    assert told == [[REFUSED] * 2, 0]


#: Of each call, by the filter alone: how the process ends.
EACH_CALL = """
import ctypes, json, mmap, os, sys
from sandbox.lockdown import kernel, seccomp
program, call = seccomp.build(3, 4), ctypes.CDLL(None).syscall
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
page[:8] = bytes.fromhex("b814000000cd80c3")  # mov eax, 20 (getpid); int 0x80; ret
code = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
ends = {}
for number in json.loads(sys.argv[1]):
    if (pid := os.fork()) == 0:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        seccomp.install(program)
        call(*map(ctypes.c_long, (number, *[-1] * 6))) if number is not None else code()
        os._exit(0)
    ends[number] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps([*ends.values()]))
"""
#: New kernels hand these of x86-64 past every filter, and serve them only where a probe was set.
PROBES = (335, 336)


def ends(numbers):
    command = [sys.executable, "-c", EACH_CALL, json.dumps(numbers)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return set(json.loads(done.stdout))


def test_calls_that_no_table_names_end_the_process():
    # System V and POSIX queues, keyrings, inotify, io_uring, other futexes, limits, priorities...
    known = {*NUMBERS.values(), *PROBES}
    unnamed = [n for n in (*range(512), 0x40000000, 0x40000009) if n not in known]

    assert len(unnamed) > 350
    assert ends(unnamed) == {-signal.SIGSYS}


@x86
def test_calls_of_32_bit_programs_end_the_process():
    assert ends([None]) <= {-signal.SIGSYS, -signal.SIGSEGV}


def test_a_process_cannot_tell_its_number(host):
    body = "libc.pthread_self.restype = ctypes.c_long\nblock = libc.pthread_self()\n"
    body += f"return result({NUMBERS['getpid']}), ctypes.string_at(block, 0x380).hex()"
    program = raw(f"def attack():\n{indented(body, 4)}{ACT}", limits=LIMITS)
    with opened(host, program) as running:
        running.act(np.zeros(3))
        number, block = eval(running.output.removeprefix("returned "))  # noqa: S307 - a repr

    assert number == REFUSED
    assert struct.pack("<i", running.pid) not in bytes.fromhex(block)


def test_user_ids_do_not_count():
    users = []
    for _ in range(2):
        with Host() as host, host.policy(policy("return 1"), ONE) as running:
            running.begin(0)
            texts = [Path(f"/proc/{child}/status").read_text() for child in children(host)]
            users += [re.findall(r"^Uid:\t(\d+)", text, re.MULTILINE)[0] for text in texts]

    assert users
    assert len({*users}) == len(users)


def test_memory_is_the_same_whatever_the_parent_has_in_use():
    most = """
def attack():
    low, high = 0, 1 << 30
    while high - low > 4096:
        size = (low + high) // 2 & ~4095
        pages = call(NR_mmap, 0, size, 3, 0x4022, -1, 0)
        low, high = (size, high) if pages > 0 else (low, size)
        if pages > 0:
            call(NR_munmap, pages, size)
    return low
"""
    processes = RawProcesses({f"NR_{name}": number for name, number in NUMBERS.items()})
    before = processes.run(most)["text"]
    processes.grow(1 << 26)
    after = processes.run(most)["text"]
    processes.close()

    assert after == before
    assert (1 << 28) - (1 << 24) < int(after.removeprefix("returned ")) <= 1 << 28


def test_pages_are_not_merged_with_those_of_others():
    script = """
import ctypes
from sandbox.lockdown import Preparation
prctl = ctypes.CDLL(None).prctl
known = prctl(67, 1, 0, 0, 0) == 0 and prctl(68, 0, 0, 0, 0) == 1
Preparation.make()
print(prctl(68, 0, 0, 0, 0) if known else "unknown")
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    if done.stdout == "unknown\n":
        pytest.skip("this kernel merges no pages of whole processes")

    assert done.stdout == "0\n"


def test_nothing_that_a_policy_maps_can_be_written_to_by_another(host):
    with host.policy(policy("return 1"), ONE) as running:
        running.begin(0)
        maps = Path(f"/proc/{running.pid}/maps").read_text()

    assert "[heap]" in maps
    assert not re.findall(r"^\S+ .w.s .*", maps, re.MULTILINE)


def test_the_page_on_the_process_names_tests_that_there_are():
    page = (Path(sandbox.__file__).parent / "PROCESS.md").read_text().partition("## Left")[0]
    titles = {*programs("raw"), *programs("raw_mapped")}

    quoted = set(re.findall(r'"([^"]+)"', page))
    named = set(re.findall(r"`((?:[a-z0-9]+_){3,}[a-z0-9]+)`", page))

    assert quoted <= titles
    assert named <= {name.removeprefix("test_") for name in globals()} | ASKED.keys()
    assert len(named) > 10
