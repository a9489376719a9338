"""Names for the array types of this package."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Marks: TypeAlias = NDArray[np.uint8]  # 1 where a value is wanted; bytes are what kernels add up
