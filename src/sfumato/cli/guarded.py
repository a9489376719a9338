"""A command that may take only so much memory, watched by a process that needs next to none.

Python raises when memory is short, and most libraries let it. Some do not: a compiler, a thread's
start, a library's way out may end the process in the middle of its work, and nothing in it can say
why or clear up. So where memory is limited (``ulimit -v``) the work is done in a process of its
own, forked before any library is loaded, and this one stays behind: it says what happened, and
removes what was being written.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from sfumato.core.address_space import address_limit, be_modest
from sfumato.io.unfinished import listeners

# How native code ends a process: abort, a fault, a trap; 127 is what the C library exits with when
# it has no memory for a thread.
_NATIVE = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGILL, signal.SIGTRAP})
_NO_THREAD = 127
_PR_SET_PDEATHSIG = 1
# by name: Windows has no SIGHUP, and no fork either
_PASSED_ON = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_END = b"\0"  # no path holds one
_PIECE = 65_536

Run = Callable[[], int]


def guarded(run: Run, refuse: Run) -> int:
    """The exit code of ``run``, or of ``refuse`` if a library has ended it for want of memory."""
    if address_limit() is None or not hasattr(os, "fork"):
        return run()
    be_modest()
    reader, writer = os.pipe()
    # a signal that comes before it can be passed on waits
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    try:
        child = os.fork()
    except OSError:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
        return run()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
        os.close(reader)
        _work(run, writer)
    os.close(writer)
    return _watched(child, reader, refuse)


def _work(run: Run, writer: int) -> None:
    """In the child: do it and leave at once, since on the way out libraries may want memory."""
    _end_with_parent()
    listeners.append(lambda path: os.write(writer, os.fsencode(path) + _END))
    code = 70
    try:
        code = run()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _end_with_parent() -> None:
    """A signal to the process that was started is meant for the work."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))


def _watched(child: int, reader: int, refuse: Run) -> int:
    """In the parent: wait, and clear up."""
    with _passing_on(child) as signals:
        begun = _told(reader, signals)
        _, status = os.waitpid(child, 0)
    os.close(reader)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0 and code != _NO_THREAD:
        return code
    for path in filter(None, begun.split(_END)):
        shutil.rmtree(Path(os.fsdecode(path)), ignore_errors=True)
    if code == _NO_THREAD or -code in _NATIVE:
        return refuse()
    return 128 - code


def _told(reader: int, signals: int) -> bytes:
    """All that the child writes until it ends.

    Python looks at signals between its own steps. One that comes just before a read begins would
    be looked at when the read ends, so what is waited for is either of the two.
    """
    told = b""
    while True:
        ready, _, _ = select.select([reader, signals], [], [])
        if signals in ready:
            os.read(signals, _PIECE)
        if reader in ready:
            piece = os.read(reader, _PIECE)
            if not piece:
                return told
            told += piece


@contextlib.contextmanager
def _passing_on(child: int) -> Iterator[int]:
    """Ctrl-C reaches both processes and is the child's business; other signals are passed on.

    A byte can be read for every one that comes.
    """
    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    signals, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    for number in _PASSED_ON:
        before[number] = signal.signal(number, lambda got, _: os.kill(child, got))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
    try:
        yield signals
    finally:
        signal.set_wakeup_fd(-1)
        os.close(signals)
        os.close(told)
        for number, handler in before.items():
            signal.signal(number, handler)
