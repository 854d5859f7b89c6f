"""Arrays with names as a file that ``numpy.load`` reads, without pickles; read with suspicion."""

from __future__ import annotations

import io
import lzma
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Arrays in a file.
_MOST = 1000
#: What may go wrong in an archive that is damaged, or made to do harm.
_DAMAGED = (
    ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError,
    OverflowError, MemoryError, struct.error, zlib.error, lzma.LZMAError,
)  # fmt: skip
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def npz(values: Mapping[str, object]) -> bytes:
    """The file's content: an array for each value; equal values give equal bytes.

    ``numpy.savez`` takes no value that is named ``file``.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in values.items():
            inner = io.BytesIO()
            np.lib.format.write_array(inner, np.asarray(value), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), inner.getvalue())
    return buffer.getvalue()


def read_npz(file: Path, limit: int) -> dict[str, NDArray[Any]]:
    """The arrays of numbers in a file of anybody's making.

    At most ``limit`` bytes of them are ever held, and nothing is unpickled. Raises ValueError,
    which says in a phrase what is wrong, and OSError.
    """
    if not file.is_file():
        raise ValueError("there is no such file")
    with file.open("rb") as opened:
        data = opened.read(2 * limit + 1)
    if len(data) > 2 * limit:
        raise ValueError(f"it is larger than {2 * limit >> 20} MiB")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _arrays(archive, limit)
    except _Refused:
        raise
    except _DAMAGED as e:
        raise ValueError(
            f"it is damaged ({str(e).splitlines()[0] if str(e) else type(e)})"
        ) from None


class _Refused(ValueError):
    """What is no damage, but not to be there."""


def _arrays(archive: zipfile.ZipFile, limit: int) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    members = archive.infolist()
    if len(members) > _MOST:
        raise _Refused(f"it holds {len(members)} files; at most {_MOST} arrays are read")
    left = limit
    for member in members:
        name = member.filename.removesuffix(".npy")
        if name == member.filename or name in found:
            raise _Refused(f"{member.filename!r} in it is no array, or there twice")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _Refused(f"{name!r} is packed in a way that is not read")
        with archive.open(member) as inner:
            data = inner.read(left + 1)
        left -= len(data)
        if left < 0:
            raise _Refused(f"the arrays in it are larger than {limit >> 20} MiB")
        found[name] = _array(name, data)
    return found


def _array(name: str, data: bytes) -> NDArray[Any]:
    """An array of numbers, whose size is held against its data before it is made."""
    inner = io.BytesIO(data)
    header = _HEADERS.get(np.lib.format.read_magic(inner))
    if header is None:
        raise _Refused(f"{name!r} is in a form that is not read")
    shape, by_columns, dtype = header(inner)
    if dtype.hasobject or dtype.kind not in "fiub":
        raise _Refused(f"{name!r} holds no numbers but {'objects' if dtype.hasobject else dtype}")
    rest = data[inner.tell() :]
    if len(shape) > 16 or math.prod(shape) * dtype.itemsize != len(rest):
        raise _Refused(f"{name!r} is not as large as it says")
    return np.frombuffer(rest, dtype).reshape(shape, order="F" if by_columns else "C").copy()
