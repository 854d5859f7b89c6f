"""MP4 files with AV1 video, from pictures; Pillow's AVIF encoder does the compression.

An animated AVIF is a sequence of AV1 samples in the same container format as MP4 (ISO/IEC
14496-12, "ISO BMFF"). So the pictures are encoded as short AVIF sequences, each beginning with a
key frame, and their samples are put together under one MP4 header, which comes before the data:
players start, and seek, without reading the whole file. Nothing but Pillow is needed.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from promptpo.common.files import write_atomically

if TYPE_CHECKING:
    from PIL.Image import Image

#: Pictures in one sequence: the distance between key frames, and what is held in memory.
_SEQUENCE = 48
#: Of the encoder: 0 slow to 10 fast; quality 0 to 100.
_SPEED, _QUALITY = 8, 62
#: Ticks of the clock in one picture, so that rates such as 26.667 a second come out well.
_TICKS = 1000
#: Bytes of a visual sample entry before its boxes, and where width and height lie in it.
_ENTRY_HEADER, _ENTRY_SIZE = 86, 32
#: The identity, as a matrix of the header boxes.
_MATRIX = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)


@dataclass
class Mp4Writer:
    """Gathers pictures of one size (even width and height) and writes them on ``close``.

    ``fps`` is pictures per second; the last picture stays for ``hold`` seconds.
    """

    path: Path
    fps: float
    hold: float = 1.0
    _pending: list[Image] = field(default_factory=list)
    _samples: list[bytes] = field(default_factory=list)
    _keys: list[int] = field(default_factory=list)
    _entry: bytes = b""

    def add(self, picture: Image) -> None:
        """Append one RGB picture."""
        self._pending.append(picture)
        if len(self._pending) == _SEQUENCE:
            self._encode()

    def close(self) -> None:
        """Write the file, whole or not at all."""
        if self._pending:
            self._encode()
        write_atomically(self.path, self._file())

    def _encode(self) -> None:
        first, *rest = self._pending
        buffer = io.BytesIO()
        first.save(
            buffer,
            "AVIF",
            # Pillow writes a still image for one picture; two equal ones make a sequence.
            save_all=True,
            append_images=rest or [first],
            duration=40,
            quality=_QUALITY,
            speed=_SPEED,
            subsampling="4:2:0",
            range="limited",
        )
        sequence = _read_sequence(buffer.getvalue())
        count = len(self._pending)
        self._keys += [len(self._samples) + k for k in sequence.keys if k < count]
        self._samples += sequence.samples[:count]
        self._entry = self._entry or sequence.entry
        self._pending = []

    def _file(self) -> bytes:
        kind = _box(b"ftyp", b"iso6" + struct.pack(">I", 0) + b"iso6isomav01mp41")
        header = self._movie(0)
        offset = len(kind) + len(header) + 8
        return kind + self._movie(offset) + _box(b"mdat", b"".join(self._samples))

    def _movie(self, offset: int) -> bytes:
        """The ``moov`` box; ``offset`` is where the first sample lies in the file."""
        scale = round(self.fps * _TICKS)
        count = len(self._samples)
        last = max(_TICKS, round(self.hold * scale))
        ticks = (count - 1) * _TICKS + last
        width, height = struct.unpack_from(">HH", self._entry, _ENTRY_SIZE)
        movie = struct.pack(">IIIII", 0, 0, scale, ticks, 0x10000) + struct.pack(">H10x", 0x100)
        movie += _MATRIX + bytes(24) + struct.pack(">I", 2)
        track = struct.pack(">IIIII", 0, 0, 1, 0, ticks) + bytes(16) + _MATRIX
        track += struct.pack(">II", width << 16, height << 16)
        language = struct.pack(">HH", 0x55C4, 0)  # "und"
        media = struct.pack(">IIII", 0, 0, scale, ticks) + language
        where = _box(b"dinf", _full(b"dref", struct.pack(">I", 1) + _full(b"url ", b"", flags=1)))
        times = [(count - 1, _TICKS), (1, last)] if count > 1 else [(1, last)]
        tables = (
            _full(b"stsd", struct.pack(">I", 1) + self._entry)
            + _full(b"stts", _table([n for pair in times for n in pair], width=2))
            + _full(b"stss", _table([k + 1 for k in self._keys]))
            + _full(b"stsc", _table([1, count, 1], width=3))
            + _full(b"stsz", bytes(4) + _table([len(s) for s in self._samples]))
            + _full(b"stco", _table([offset]))
        )
        info = _full(b"vmhd", bytes(8), flags=1) + where + _box(b"stbl", tables)
        handler = _full(b"hdlr", bytes(4) + b"vide" + bytes(12) + b"promptpo\0")
        return _box(
            b"moov",
            _full(b"mvhd", movie)
            + _box(
                b"trak",
                _full(b"tkhd", track, flags=3)
                + _box(b"mdia", _full(b"mdhd", media) + handler + _box(b"minf", info)),
            ),
        )


@dataclass(frozen=True)
class _Sequence:
    """AV1 samples, which of them are key frames (from 0), and the ``av01`` box."""

    samples: list[bytes]
    keys: list[int]
    entry: bytes


def _read_sequence(data: bytes) -> _Sequence:
    """Take apart an AVIF sequence."""
    tables = _inside(data, b"moov", b"trak", b"mdia", b"minf", b"stbl")
    description = tables[b"stsd"][8:]
    boxes = dict(_boxes(description[_ENTRY_HEADER:]))
    # Leave out what only AVIF knows (``ccst``).
    kept = b"".join(_box(name, boxes[name]) for name in (b"av1C", b"colr") if name in boxes)
    entry = _box(b"av01", description[8:_ENTRY_HEADER] + kept)
    same_size, count = struct.unpack_from(">II", tables[b"stsz"], 4)
    sizes = [same_size] * count if same_size else _numbers(tables[b"stsz"][8:])
    keys = [n - 1 for n in _numbers(tables[b"stss"][4:])] if b"stss" in tables else [*range(count)]
    return _Sequence(list(_samples(data, tables, sizes)), keys, entry)


def _samples(data: bytes, tables: dict[bytes, bytes], sizes: list[int]) -> Iterator[bytes]:
    """The samples in order, found by the tables of chunks."""
    chunks = _numbers(tables[b"stco"][4:])
    runs = _numbers(tables[b"stsc"][4:], width=3)
    per_chunk: dict[int, int] = dict(zip(runs[::3], runs[1::3], strict=True))
    held, left = 0, iter(sizes)
    for number, offset in enumerate(chunks, 1):
        held = per_chunk.get(number, held)
        at = offset
        for _ in range(held):
            size = next(left)
            yield data[at : at + size]
            at += size


def _inside(data: bytes, *path: bytes) -> dict[bytes, bytes]:
    """The boxes at the end of a path of boxes."""
    boxes = dict(_boxes(data))
    for name in path:
        boxes = dict(_boxes(boxes[name]))
    return boxes


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Name and content of each box."""
    at = 0
    while at < len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        size = size or len(data) - at
        yield name, data[at + 8 : at + size]
        at += size


def _box(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", len(content) + 8, name) + content


def _full(name: bytes, content: bytes, flags: int = 0) -> bytes:
    """A box with version 0 and flags."""
    return _box(name, struct.pack(">I", flags) + content)


def _table(numbers: list[int], width: int = 1) -> bytes:
    """Rows of ``width`` numbers behind their count."""
    return struct.pack(f">{len(numbers) + 1}I", len(numbers) // width, *numbers)


def _numbers(table: bytes, width: int = 1) -> list[int]:
    """The numbers of a table, as ``_table`` writes it."""
    (count,) = struct.unpack_from(">I", table)
    return list(struct.unpack_from(f">{count * width}I", table, 4))
