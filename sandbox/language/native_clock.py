"""numpy's own clock stands still in the sandbox's processes.

``"now"`` and ``"today"`` are read from the clock by whatever makes dates of text: any function that
takes ``dtype="M8[s]"``, any assignment to such an array. No facade can see all of these. What they
come to is one call of the C library, ``time``, through one slot in numpy's table of imported
functions; ``stop`` lets that slot lead to a function that does nothing. Dates then begin in 1970.
"""

from __future__ import annotations

import ctypes
import importlib
import mmap
import platform
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Numbers and layouts are those of elf.h, for 64 bits.
_DYNAMIC_SEGMENT = 2
_RELA, _RELA_SIZE, _JUMPS, _JUMPS_SIZE, _STRINGS, _SYMBOLS = 7, 8, 23, 2, 5, 6
_RELOCATION, _ENTRY = struct.Struct("<QQq"), struct.Struct("<qQ")
_SYMBOL_SIZE = 24


def stop() -> bool:
    """Let numpy's ``time`` do nothing; False where there is no such slot (other systems)."""
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "aarch64"):
        return False
    core: Any = importlib.import_module("numpy._core._multiarray_umath")
    base = _mapped(core.__file__)
    slots = list(_slots(base, b"time")) if base else []
    for slot in slots:
        _write(slot)
    return bool(slots)


def _write(slot: int) -> None:
    library: Any = ctypes.CDLL(None)
    page = ctypes.c_void_p(slot - slot % mmap.PAGESIZE)
    sealed = not _is_writeable(slot)
    if sealed:
        library.mprotect(page, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE)
    # It takes no arguments, and looks at none.
    ctypes.c_uint64.from_address(slot).value = (
        ctypes.cast(library.getpagesize, ctypes.c_void_p).value or 0
    )
    if sealed:
        library.mprotect(page, mmap.PAGESIZE, mmap.PROT_READ)


def _maps() -> Iterator[tuple[int, int, str, str]]:
    """Begin, end, permissions and file of each stretch of this process's memory."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, permissions, _, _, _, *file = line.split(maxsplit=5)
        begin, end = (int(number, 16) for number in place.split("-"))
        yield begin, end, permissions, "".join(file)


def _mapped(path: str) -> int:
    """Where a library begins in memory; 0 where the system does not tell."""
    real = str(Path(path).resolve())
    return min((begin for begin, _, _, file in _maps() if file == real), default=0)


def _is_writeable(address: int) -> bool:
    return any(begin <= address < end and "w" in how for begin, end, how, _ in _maps())


def _slots(base: int, wanted: bytes) -> Iterator[int]:
    """Addresses of the slots for the imported function ``wanted`` of the library at ``base``."""
    dynamic = dict(_dynamic(base))
    for table, size in ((_RELA, _RELA_SIZE), (_JUMPS, _JUMPS_SIZE)):
        data = ctypes.string_at(dynamic[table], dynamic[size]) if table in dynamic else b""
        for offset, info, _ in _RELOCATION.iter_unpack(data):
            number = info >> 32
            symbol = dynamic[_SYMBOLS] + _SYMBOL_SIZE * number
            name = dynamic[_STRINGS] + ctypes.c_uint32.from_address(symbol).value
            if number and ctypes.string_at(name) == wanted:
                yield base + offset


def _dynamic(base: int) -> Iterator[tuple[int, int]]:
    """Entries of the dynamic section; the loader has made some addresses absolute."""
    (segments,) = struct.unpack("<Q", ctypes.string_at(base + 32, 8))
    size, count = struct.unpack("<HH", ctypes.string_at(base + 54, 4))
    for segment in range(base + segments, base + segments + size * count, size):
        if ctypes.c_uint32.from_address(segment).value == _DYNAMIC_SEGMENT:
            entry = base + ctypes.c_uint64.from_address(segment + 16).value
            break
    else:
        return
    while (pair := _ENTRY.unpack(ctypes.string_at(entry, _ENTRY.size)))[0]:
        tag, value = pair
        is_address = tag in (_RELA, _JUMPS, _STRINGS, _SYMBOLS)
        yield tag, value + base if is_address and value < base else value
        entry += _ENTRY.size
