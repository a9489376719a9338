"""Second releases: what an owner is told who publishes the same rows once more.

Each of two releases may keep its promise, and both together break it: somebody who has both
intersects the groups of a person (docs/guarantees.md has figures). So what is written is remembered
with the owner (io/owner_state.py), under a fingerprint of the rows it was made of, and writing
another release of the same rows warns.

A release in memory knows what it was made from: the table, or the folder it was loaded from. That
is kept beside it, never in it, and the fingerprint is computed when the release is written. A
release that was loaded and is written again shows the same groups, so nothing adds up.

Releases of one series (verbs/join_series.py) are made so that they do not add up: of these nothing
is said.

Nothing here stops a release from being written. Where the state cannot be used, that is said once.
"""

from __future__ import annotations

import functools
import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

from sfumato.core.askable import Askable
from sfumato.core.fingerprint import fingerprint
from sfumato.core.foreign import our_errors
from sfumato.core.microdata import Microdata
from sfumato.errors import SfumatoError, SfumatoWarning
from sfumato.io.opened import one_line
from sfumato.io.owner_state import VARIABLE, Made, OwnerState, owner_state
from sfumato.io.paths import usable

Origin: TypeAlias = Microdata | Path
Writer = TypeVar("Writer", bound=Callable[..., Path])

DATABASE = "statdb"  # the kind under which a statistical database is remembered
_MOST_NAMED = 3

_origins: WeakKeyDictionary[Askable, Origin] = WeakKeyDictionary()
_series: WeakKeyDictionary[Askable, str] = WeakKeyDictionary()
_said: set[str] = set()


def made_from(release: Askable, origin: Origin, series: str = "") -> None:
    """Note what a release was made from: a table, or the folder it was loaded from; and as one of
    which series, if any.
    """
    _origins[release] = origin
    _series[release] = series


def forget(release: Askable) -> None:
    """Let a release be written without being remembered: its people are invented."""
    _origins.pop(release, None)


def remembered(write: Writer) -> Writer:
    """Let a release's ``write`` remember, and warn of, what else was made of the same rows."""

    @functools.wraps(write)
    def writing(release: Any, path: str | Path, **options: Any) -> Path:
        with our_errors("writing a release"), noting(release, path):
            return write(release, path, **options)

    return cast(Writer, writing)


@contextmanager
def noting(release: Any, path: str | Path) -> Iterator[None]:
    """Remember a release that is written meanwhile, if it is known what it was made from."""
    origin = _origins.get(release)
    if isinstance(origin, Microdata):
        table = origin
        with noting_rows(
            path, release.kind, lambda state: [fingerprint(table, state.key())], release,
            stacklevel=8,
        ):  # fmt: skip
            yield
        return
    yield
    if origin is not None:
        _trying(lambda state: _note_copy(state, origin, Path(path), release.kind), 6)


@contextmanager
def noting_rows(
    path: str | Path,
    kind: str,
    prints: Callable[[OwnerState], Sequence[str]],
    release: Any = None,
    *,
    stacklevel: int = 6,
) -> Iterator[None]:
    """Remember what is written to a path meanwhile, and warn if the same rows stand elsewhere.

    ``prints`` gives the fingerprints of its rows, and is asked when everything is written. Without
    ``release`` the content is taken to differ from everything else. ``stacklevel`` leads from here
    to the line that a warning is about.
    """
    target = usable(path)
    before = "another" if _stands(target) else None
    if before is not None and release is not None:
        before = _trying(lambda state: _content(target, state), stacklevel)
    yield

    def note(state: OwnerState) -> None:
        if state.folder.resolve().is_relative_to(target.resolve()):
            raise ValueError(f"{VARIABLE} lies inside of the release")
        for said in _noted(state, target, kind, prints(state), release, before):
            warnings.warn(said, SfumatoWarning, stacklevel=stacklevel)

    _trying(note, stacklevel)


def _noted(
    state: OwnerState,
    target: Path,
    kind: str,
    prints: Sequence[str],
    release: Any,
    before: str | None,
) -> Iterator[str]:
    """Write down what was made, and say what else there is."""
    own = None if release is None else _digest(release, state)
    series = "" if release is None else _series.get(release, "")
    place = str(target.resolve())
    for one in prints:
        others = [
            made
            for made in state.made_of(one)
            if not (series and made.series == series)
            if (made.path != place and _differs(made, own, state))
            or (made.path == place and before is not None and before != own)
        ]
        state.remember(one, Made.now(target, kind, series))
        if others:
            yield _warning(others, place, target)


def _note_copy(state: OwnerState, origin: Path, target: Path, kind: str) -> None:
    """Remember that what stands at one place stands at another, too."""
    place = str(origin.resolve())
    for one in state.fingerprints_at(origin):
        series = next((made.series for made in state.made_of(one) if made.path == place), "")
        state.remember(one, Made.now(target, kind, series))


def _differs(made: Made, own: str | None, state: OwnerState) -> bool:
    """Whether something still stands there, and shows something else."""
    path = Path(made.path)
    if made.kind == DATABASE:
        return path.is_dir()
    return _stands(path) and (own is None or _content(path, state) != own)


def _stands(path: Path) -> bool:
    return (path / "release.json").is_file()


def _content(path: Path, state: OwnerState) -> str:
    """The digest of a folder's content; of one that cannot be read, a word that none equals."""
    from sfumato.forms.load import load

    try:
        return _digest(load(path), state)
    except SfumatoError:
        return "unreadable"


def _digest(release: Any, state: OwnerState) -> str:
    from sfumato.forms.content import content_digest

    return content_digest(release, state.key())


def _warning(others: Sequence[Made], place: str, target: Path) -> str:
    named = ", ".join(f"{made.path} (of {made.on})" for made in others[:_MOST_NAMED])
    more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    said = f"the same rows are published already: {named}{more}"
    if all(made.path == place for made in others):
        said = f"{target} held another release of the same rows (of {others[-1].on}); if anybody "
        said += "has it, nothing is undone by replacing it"
    told = (
        f"{said}. Releases of the same people add up (on test tables guesses from two were right "
        "in 49% to 74% of the cases instead of 10% to 25%): give away one only"
    )
    shown = others[:_MOST_NAMED]
    released = [made for made in shown if made.kind != DATABASE and made.path != place]
    if released:
        command = shlex.join(["sfumato", "convert", released[0].path, "NEW"])
        told += f"; the same groups in another format: {command} --format ..."
    return told


def _trying(work: Callable[[OwnerState], Any], stacklevel: int) -> Any:
    """Do something with the owner's state, or say, once, that it cannot be used."""
    try:
        state = owner_state()
        return None if state is None else work(state)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        reason = one_line(error)
        if reason not in _said:
            _said.add(reason)
            warnings.warn(
                f"releases cannot be remembered ({reason}), so a second release of the same rows "
                f"will not be noticed; set {VARIABLE} to a folder of your own, or to nothing",
                SfumatoWarning,
                stacklevel=stacklevel - 1,
            )
        return None
