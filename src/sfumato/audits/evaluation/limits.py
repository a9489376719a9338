"""What a promise does not cover, in a sentence each; docs/guarantees.md says more."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.core.schema import Role
from sfumato.forms.manifest import Manifest
from sfumato.forms.registry import FORMS

_OF_MODELS = {
    "k-anonymity": "k-anonymity hides which row is a person's, not the sensitive value: if all "
    "rows of a group share it, it is known.",
    "k-join-anonymity": "k-join-anonymity hides which line is a person's among people who are not "
    "all in the table; it does not hide that a person is in it, and its external rows must be real "
    "people: who made some of them up leaves those out and sees who remains.",
    "l-diversity": "l-diversity bounds the chance of a right guess, not what is learned: 1/l may "
    "be far above the value's share in the table, and values may be close to each other.",
    "distinct-l-diversity": "Distinct l-diversity puts no number on a guess: one value may hold "
    "nearly all rows of a group.",
    "entropy-l-diversity": "Entropy l-diversity does not bound the most frequent value of a group "
    "by itself: it may exceed 1/l.",
    "recursive-cl-diversity": "Recursive diversity ignores what values mean: a group may hold "
    "nothing but cancers.",
    "t-closeness": "t-closeness does not bound what the table as a whole tells.",
    "perturbation": "Perturbation bounds the chance of a right guess if all values are equally "
    "likely; who knows that a value is frequent guesses it better.",
}
_SEVERAL = (
    "Several sensitive columns are protected one by one: who knows a person's value in one of "
    "them narrows the others."
)
_EXACT = (
    "Quasi-identifiers are published exactly: it can be seen who is in the table, and who learns "
    "which values go with which people guesses better than the promise suggests."
)
_WITHIN = (
    "The promise is kept on each of the named sets of columns alone: who knows columns of several "
    "of them is not covered."
)
_LEFT_OUT = (
    "Rows that were left out are protected by their absence; who knows that a person was in the "
    "table can tell from the release that the person is rare."
)
_ALWAYS = (
    "Somebody who knows more than the quasi-identifiers, such as a column called insensitive, is "
    "not covered.",
    "A second release of the same people may be intersected with this one.",
    "The promise counts rows: it means persons only if each person has one row.",
)


def limits_of(manifest: Manifest) -> tuple[str, ...]:
    """What this release's promise does not cover."""
    return tuple(_limits(manifest))


def _limits(manifest: Manifest) -> Iterator[str]:
    names = dict.fromkeys(str(part.get("model")) for part in manifest.promise)
    yield from (_OF_MODELS[name] for name in names if name in _OF_MODELS)
    if any("within" in part for part in manifest.promise):
        yield _WITHIN
    form = FORMS[manifest.kind]
    if any(column.form == "value" for column in manifest.of_role(Role.QUASI)):
        yield _EXACT
    yield from form.limits(manifest)
    if manifest.suppressed:
        yield _LEFT_OUT
    if len(manifest.of_role(Role.SENSITIVE)) > 1:
        yield _SEVERAL
    yield from _ALWAYS
