"""Checks with a known flaw, for tests of the hunt that should find it."""

import os
import signal
import time
from typing import Any

from fuzzing.judging import Finding
from fuzzing.tables import Table

SENTINEL = str(2**63 - 1)


def refuses_the_sentinel(table: Table) -> str:
    """A program that cannot bear the largest whole number."""
    for column in table.columns:
        if any(cell is not None and column.values[cell] == SENTINEL for cell in column.cells):
            raise Finding("the sentinel")
    return "fine"


def crashes(case: Any) -> str:
    os.kill(os.getpid(), signal.SIGSEGV)
    return "never"


def hangs(case: Any) -> str:
    time.sleep(3600)
    return "never"


def raises_something_foreign(case: Any) -> str:
    return str({}[case])


def lives(case: Any) -> str:
    return f"saw {case}"
