"""Arrays of a file in numpy's format NPZ, none of whose lengths is believed: no pickles, nothing compressed."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_BYTES = 4 * 2**30  # of a file
MAX_ARRAYS = 10_000
KINDS = "biufU"  # of numbers and text: never "O", which is a pickle
LONGEST = 10_000  # bytes of an array's header


def read_arrays(data: bytes) -> dict[str, NDArray[Any]]:
    """By name; a ValueError says what is wrong with the file."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            if len(members) > MAX_ARRAYS or sum(m.file_size for m in members) > len(data):
                raise ValueError(f"it has more than {MAX_ARRAYS} arrays, or larger ones than it has room for")
            if any(m.compress_type != zipfile.ZIP_STORED or m.flag_bits & 1 for m in members):
                raise ValueError("its arrays are compressed or encrypted")
            return {m.filename.removesuffix(".npy"): array_of(archive.read(m)) for m in members}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, MemoryError) as error:
        raise ValueError(str(error) or type(error).__name__) from None


def array_of(data: bytes) -> NDArray[Any]:
    """An array in numpy's format NPY."""
    stream = io.BytesIO(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote
            read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            shape, by_columns, dtype = read[np.lib.format.read_magic(stream)](stream, LONGEST)
    except Exception as error:  # of many kinds: numpy gives what is there to Python's own parser
        raise ValueError(f"the header of an array is spoilt: {type(error).__name__}") from None
    count, start = math.prod(shape), stream.tell()
    if dtype.kind not in KINDS or dtype.hasobject or not dtype.isnative or dtype.itemsize == 0:
        raise ValueError(f"an array holds {dtype}, neither numbers nor text")
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(data) - start:
        raise ValueError(f"an array says that it is {list(shape)}, and has {len(data) - start} bytes")
    return np.frombuffer(data, dtype, count, start).reshape(shape, order="F" if by_columns else "C").copy()
