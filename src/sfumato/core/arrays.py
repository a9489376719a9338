"""Names for the array types that travel between modules."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.signedinteger[Any]]
Codes: TypeAlias = NDArray[np.int32]
Counts: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint64]
HalfWords: TypeAlias = NDArray[np.uint32]
Bytes: TypeAlias = NDArray[np.uint8]

# A whole number inside a kernel: Python's when it starts, NumPy's once it comes out of an array.
Whole: TypeAlias = int | np.int64
