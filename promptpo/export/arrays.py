"""Values with names as a file that ``numpy.load`` reads, without pickles."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

import numpy as np


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
