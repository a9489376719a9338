"""Settings shared by every test."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# The first example of a test may compile a kernel, and the machine may be busy with other things:
# what depends on speed would fail at random. A test that hangs is ended by pytest-timeout.
settings.register_profile("sfumato", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sfumato")


def pytest_configure() -> None:
    """Settings that hold before any fixture, and for the programs that tests start.

    Releases of tests are not remembered: the folder in which their owner does so is a person's.
    Tests about that name one of their own.

    Files need not reach the disk: no test takes the power away, and what a killed process wrote is
    in the system's memory as well. Waiting for the disk was a tenth of the time.

    Let Ctrl-C be Ctrl-C: a run started in the background of a shell ignores it, and so would
    every program that the tests start and interrupt.
    """
    os.environ["SFUMATO_STATE"] = ""
    pytest.MonkeyPatch().setattr(os, "fsync", lambda _file: None)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
