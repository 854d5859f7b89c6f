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

import pytest
from raw_process import RawProcesses
from restricted import programs

import sandbox
from sandbox import Discrete, Host, Interface, detect
from sandbox.lockdown import seccomp

MACHINE = seccomp._MACHINES.get(platform.machine())
pytestmark = pytest.mark.skipif(
    MACHINE is None or detect().level != "strict", reason="needs strict isolation"
)
NUMBERS = {**MACHINE.checked, **MACHINE.allowed, **MACHINE.denied} if MACHINE else {}
x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="instructions of x86-64")
REFUSED = -errno.EPERM
POLICY = "class Policy:\n  def act(self, o): return 1"


def children(host):
    parent = host.parent_pid
    return Path(f"/proc/{parent}/task/{parent}/children").read_text().split()


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    path = tmp_path_factory.mktemp("shared") / "data"
    path.write_bytes(bytes(8192))
    path.parent.chmod(0o755)
    raw = RawProcesses({"MAPPED": str(path), **{f"NR_{n}": v for n, v in NUMBERS.items()}})
    yield raw
    raw.close()


def attack(raw, body):
    """What the body of ``attack`` gives; the test fails where the process ends."""
    result = raw.run(source(body))
    assert (result["status"], result["text"][:9]) == (0, "returned "), result
    return eval(result["text"][9:])  # noqa: S307 - the repr of numbers


def source(body):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"def attack():\n    import numpy as np\n{lines}"


PAGES = """
address = np.frombuffer(pages, np.uint8).__array_interface__["data"][0]
library = ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~3
word = ctypes.c_uint32(7)
"""


def test_no_process_waits_for_another_on_a_shared_page(raw):
    waiter = """
two = (ctypes.c_long * 2)(1, 0)
return [call(NR_futex, page, 0, 0, ctypes.addressof(two), 0, 0) for page in (address, library)]
"""
    waker = """
import time
end = time.process_time() + 0.3
woken = 0
while time.process_time() < end:
    woken += sum(max(0, call(NR_futex, page, 1, 99)) for page in (address, library))
return woken
"""
    waited, woken = raw.run_together([source(PAGES + waiter), source(PAGES + waker)])

    assert (waited["text"], woken["text"]) == (f"returned {[REFUSED] * 2}", "returned 0")


def test_no_operation_on_a_futex_but_waking_oneself(raw):
    # Some take the process id of an owner and tell whether there is one; some tell the time.
    told = attack(
        raw,
        PAGES + "at = ctypes.addressof(word)\n"
        "return [op for op in range(512) if call(NR_futex, at, op, 1, 0, at, 0) != -1]",
    )

    assert told == [0x81]


def test_no_processor_time_of_another_process(raw):
    told = attack(
        raw,
        "space = (ctypes.c_long * 2)()\n"
        "ids = [(~pid << 3) | kind for pid in (PARENT, 1, 0) for kind in (0, 1, 2, 4, 5, 6)]\n"
        "return [call(NR_clock_gettime, n, ctypes.addressof(space)) for n in ids]",
    )

    assert set(told) == {REFUSED}


def test_no_clock_but_that_of_its_own_processor_time(raw):
    told = attack(
        raw,
        "space = (ctypes.c_long * 2)()\n"
        "at = ctypes.addressof(space)\n"
        "return [n for n in range(-64, 64) if call(NR_clock_gettime, n, at) != -1]",
    )

    assert told == [2]


def test_processor_time_advances_by_whole_ticks(raw):
    readings = attack(
        raw,
        "space = (ctypes.c_long * 2)()\n"
        "at = ctypes.addressof(space)\n"
        "seen = set()\n"
        "for _ in range(2000):\n"
        "    call(NR_clock_gettime, 2, at)\n"
        "    seen.add(space[1])\n"
        "return len(seen)",
    )

    assert readings < 200


@pytest.mark.parametrize("kinds", ["MAP_SHARED", "MAP_PRIVATE"])
def test_no_memory_but_private_memory_of_no_file(raw, kinds):
    # Huge pages are a pool of all; locked and droppable pages tell of the machine's memory.
    told = attack(
        raw,
        f"kind = mmap.{kinds}\n"
        "flags = [kind] + [kind | 0x20 | 1 << bit for bit in range(31)]\n"
        "given = [f for f in flags if call(NR_mmap, 0, 4096, 3, f, -1, 0) > 0]\n"
        "return given",
    )

    private = {0x22, 0x22 | 0x4000, 0x22 | 0x20000}
    assert set(told) == (private if kinds == "MAP_PRIVATE" else set())


def test_no_memory_becomes_executable(raw):
    told = attack(
        raw,
        "pages = call(NR_mmap, 0, 4096, 3, 0x22, -1, 0)\n"
        "bits = [p for p in range(32) if call(NR_mprotect, pages, 4096, p) == 0]\n"
        "return bits, [p for p in range(32) if call(NR_mmap, 0, 4096, p, 0x22, -1, 0) > 0]",
    )

    assert told == ([0, 1, 2, 3], [0, 1, 2, 3])


def test_no_advice_that_concerns_other_processes(raw):
    # Among them: merge equal pages, poison or page out, read ahead, ask what is in memory.
    told = attack(
        raw,
        "pages = call(NR_mmap, 0, 8192, 3, 0x22, -1, 0)\n"
        "return [a for a in range(-1, 256) if call(NR_madvise, pages, 4096, a) != -1]",
    )

    assert told == [4, 14]


def test_no_memory_moves_to_a_place_of_choice(raw):
    told = attack(
        raw,
        "pages, to = (call(NR_mmap, 0, 4096, 3, 0x22, -1, 0) for _ in range(2))\n"
        "return [call(NR_mremap, pages, 4096, 4096, flags, to) for flags in range(2, 16)]",
    )

    assert set(told) == {REFUSED}


#: New kernels hand these of x86-64 past every filter, and serve them only where a probe was set.
PROBES = (335, 336)
#: Of each call, by the filter alone: how the process ends.
EACH_CALL = """
import ctypes, json, os, sys
from sandbox.lockdown import kernel, seccomp
program, call = seccomp.build(3, 4), ctypes.CDLL(None).syscall
ends = {}
for number in json.loads(sys.argv[1]):
    if (pid := os.fork()) == 0:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        seccomp.install(program)
        call(*map(ctypes.c_long, (number, *[-1] * 6)))
        os._exit(0)
    ends[number] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps(ends))
"""


def test_calls_that_no_table_names_end_the_process():
    # System V and POSIX queues, keyrings, inotify, io_uring, other futexes, limits, priorities...
    known = {*NUMBERS.values(), *PROBES}
    unnamed = [n for n in (*range(512), 0x40000000, 0x40000009) if n not in known]
    command = [sys.executable, "-c", EACH_CALL, json.dumps(unnamed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)

    assert len(unnamed) > 350
    assert set(json.loads(done.stdout).values()) == {-signal.SIGSYS}


def test_calls_that_are_refused_do_nothing(raw):
    told = attack(raw, f"return [call(n, *[-1] * 6) for n in {list(MACHINE.denied.values())}]")

    assert set(told) == {REFUSED}


@x86
def test_calls_of_32_bit_programs_end_the_process(raw):
    # mov eax, 20 (getpid); int 0x80; ret
    result = raw.run(source(r"return machine(b'\xb8\x14\0\0\0\xcd\x80\xc3')"))

    assert result["status"] in (-31, -11)


def test_a_process_cannot_tell_its_number(raw):
    result = raw.run(
        source(
            "libc.pthread_self.restype = ctypes.c_long\n"
            "return call(NR_getpid), ctypes.string_at(libc.pthread_self(), 0x380).hex()"
        )
    )

    number, block = eval(result["text"][9:])  # noqa: S307 - as above
    assert number == REFUSED
    assert struct.pack("<i", result["pid"]) not in bytes.fromhex(block)


def test_user_ids_do_not_count():
    interface = Interface(1, None, Discrete(2))
    users = []
    for _ in range(2):
        with Host() as host, host.policy(POLICY, interface) as policy:
            policy.begin(0)
            texts = [Path(f"/proc/{child}/status").read_text() for child in children(host)]
            users += [re.findall(r"^Uid:\t(\d+)", text, re.MULTILINE)[0] for text in texts]

    assert users
    assert len({*users}) == len(users)


def test_memory_is_the_same_whatever_the_parent_has_in_use(raw):
    most = """
low, high = 0, 1 << 30
while high - low > 4096:
    size = (low + high) // 2 & ~4095
    pages = call(NR_mmap, 0, size, 3, 0x4022, -1, 0)
    low, high = (size, high) if pages > 0 else (low, size)
    if pages > 0:
        call(NR_munmap, pages, size)
return low
"""
    before = attack(raw, most)
    raw.grow(1 << 26)
    after = attack(raw, most)

    assert after == before
    assert (1 << 28) - (1 << 24) < after <= 1 << 28


def test_pages_are_not_merged_with_those_of_others():
    script = (
        "import ctypes\n"
        "from sandbox.lockdown import Preparation\n"
        "prctl = ctypes.CDLL(None).prctl\n"
        "known = prctl(67, 1, 0, 0, 0) == 0 and prctl(68, 0, 0, 0, 0) == 1\n"
        "Preparation.make()\n"
        "print(prctl(68, 0, 0, 0, 0) if known else 'unknown')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    if done.stdout == "unknown\n":
        pytest.skip("this kernel merges no pages of whole processes")

    assert done.stdout == "0\n"


def test_nothing_that_a_policy_maps_can_be_written_to_by_another():
    with Host() as host, host.policy(POLICY, Interface(1, None, Discrete(2))) as policy:
        policy.begin(0)
        maps = Path(f"/proc/{policy.pid}/maps").read_text()

    assert "[heap]" in maps
    assert not re.findall(r"^\S+ .w.s .*", maps, re.MULTILINE)


def test_the_page_on_the_process_names_tests_that_there_are():
    page = (Path(sandbox.__file__).parent / "PROCESS.md").read_text().partition("## Left")[0]
    titles = {*programs("raw"), *programs("raw_mapped")}

    quoted = set(re.findall(r'"([^"]+)"', page))
    named = set(re.findall(r"`((?:[a-z0-9]+_){3,}[a-z0-9]+)`", page))

    assert quoted <= titles
    assert {f"test_{name}" for name in named} <= {*globals()}
    assert len(named) > 10
