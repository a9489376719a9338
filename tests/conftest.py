"""Settings shared by every test."""

import signal

from hypothesis import settings

# The first example of a test may compile a kernel, so time limits would fail at random.
settings.register_profile("sfumato", deadline=None)
settings.load_profile("sfumato")


def pytest_configure() -> None:
    """Let Ctrl-C be Ctrl-C: a run started in the background of a shell ignores it, and so would
    every program that the tests start and interrupt.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
