"""Commands as a user types them, in the process of the tests: to start one takes a second."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from sfumato.cli.main import main


def ran(place: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """What a command prints and exits with when it is typed in a folder."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    ending = signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch, chdir(place):
        patch.setattr(sys, "meta_path", [*sys.meta_path])  # in which a command hides libraries
        for name, value in environment.items():
            patch.setenv(name, value)
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main([*arguments])
    signal.signal(signal.SIGTERM, ending)
    shown = [stream.buffer.getvalue() for stream in (out, err)]
    return subprocess.CompletedProcess(arguments, int(str(ended.value.code)), *shown)


def sfumato(place: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The same as texts."""
    done = ran(place, *arguments, **environment)
    out, err = done.stdout.decode(), done.stderr.decode()
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)
