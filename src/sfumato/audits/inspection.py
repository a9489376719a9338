"""Look at a table before it is released: what its columns hold, and the roles they seem to play.

Roles are guessed from names and counts and err on the safe side: what is neither an identifier nor
sensitive is called quasi-identifying. They are a start for the owner's judgement, not a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from sfumato.audits.column_counts import ColumnCounts
from sfumato.audits.column_hints import code_hint, weight_hint
from sfumato.core.foreign import our_errors
from sfumato.core.schema import Role, Schema
from sfumato.engines.rows import together
from sfumato.errors import DataError
from sfumato.io.plain import plain_table
from sfumato.io.tables import Source, read_table

# Names are compared word by word, joined by underscores: PatientName and "patient name" are
# patient_name, which holds the word name.
_IDENTIFIER = (
    r"(.*_)?(name|surname|forename|firstname|lastname|fullname|middlename|username|nickname|login"
    r"|initials|ssn|social_security|passport|e_?mail|mail|phone|telephone|mobile|cellphone|fax"
    r"|iban|account|credit_card|card_number|address|street|ip|ipv[46]|mac|imei|imsi|uuid|guid|url"
    r"|website|mrn|nhs|(driver|drivers)_licen[sc]e|licen[sc]e_(number|plate)|plate|vin|signature"
    r"|fingerprint|photo|(national|tax|personal|patient|person|user|customer|client|member"
    r"|employee|student|subscriber|device)_(id|nbr|no|number))(_.*)?"
)
# A number of something: of a person if it has many values, of a kind of admission if few.
_NUMBER = r"(.*_)?(id|nbr|no|nr|num|number|key)|id_.*"
_ONE_PER_PERSON = r"(.*_)?(ssn|passport|e_?mail|iban|imei|mrn|nhs|uuid|guid)(_.*)?"
_CODE = r"(^|_)(id|code)$"
_WEIGHT = r"(.*_)?(weight|weights|wgt|wt|pwgt\w*)"  # of a survey, or of a body
_SURVEY_WEIGHT = r"(.*_)?(fnlwgt|pwgt\w*)"  # of nothing else, so whole numbers are meant, too
_MANY = 0.05  # of the rows: more values than that are no categories
_NEARLY_ALL = 0.9
_FEW_ROWS = 20  # below, that texts differ means little
# A diagnosis may be called by an abbreviation, and there may be several: diag_1, diag_2, dx3.
_SENSITIVE = (
    r"(.*_)?(diag|dx|icd(_?(9|10))?)(_?\d+)?(_.*)?"
    r"|.*(disease|diagnos|condition|illness|salary|income|wage|religion|politic|vote|sexual"
    r"|hiv|test_?result|crime|offence|union|medication|treatment|score).*"
)


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """One column: what it holds, the role it seems to play, and why.

    A column of lists, structs or bytes can play no role, and its values are not counted. ``hint``
    is what its owner may want to say about it.
    """

    name: str
    type: str
    distinct: int | None
    missing: int
    role: Role | None
    reason: str
    hint: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Repeats:
    """An identifier that several rows share: k counts rows, and they may be one person's."""

    name: str
    distinct: int
    rows: int

    def __str__(self) -> str:
        """The warning in words."""
        return (
            f"{self.distinct:,} different {self.name} in {self.rows:,} rows: several rows per "
            "person; k counts rows, not people"
        )

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {**asdict(self), "warning": str(self)}


@our_errors("inspecting")
def profile(table: Source) -> tuple[ColumnProfile, ...]:
    """Describe every column of a table, in whatever form ``read`` takes it, and guess its role.

    >>> columns = sf.profile("patients.csv")
    >>> [column.name for column in columns if column.role == "quasi"]
    ['age', 'sex', 'zipcode', 'education', 'job']
    """
    if not isinstance(table, pa.Table):
        table = read_table(together(table))
    if table.num_rows == 0:
        raise DataError("the table has no rows; there is nobody to protect")
    table = plain_table(table)
    counted = {name: ColumnCounts.of(table.column(name)) for name in table.column_names}
    return profiles_of(table.num_rows, counted)


def profiles_of(rows: int, counted: Mapping[str, ColumnCounts]) -> tuple[ColumnProfile, ...]:
    """The same of columns that are counted."""
    return tuple(_profile(name, rows, found) for name, found in counted.items())


def guess_schema(profiles: Sequence[ColumnProfile]) -> Schema:
    """The schema that the guessed roles amount to.

    >>> sf.guess_schema(sf.profile("patients.csv")).identifiers
    ('name',)
    """
    names = {role: [column.name for column in profiles if column.role is role] for role in Role}
    return Schema(
        identifiers=names[Role.IDENTIFIER],
        quasi=names[Role.QUASI],
        sensitive=names[Role.SENSITIVE],
        insensitive=names[Role.INSENSITIVE],
    )


def repeated_identifiers(
    profiles: Sequence[ColumnProfile], identifiers: Collection[str], rows: int
) -> tuple[Repeats, ...]:
    """The identifiers that number people and occur in several rows.

    Names are left out: two people may share one.
    """
    return tuple(
        Repeats(column.name, column.distinct, rows)
        for column in profiles
        if column.name in identifiers and column.distinct and _numbers_people(column.name)
        if column.distinct < rows - column.missing
    )


def _profile(name: str, rows: int, found: ColumnCounts) -> ColumnProfile:
    kind, missing, distinct, hint = found
    if distinct is None:
        return ColumnProfile(name, _short(kind), None, missing, None, "(not usable)")
    role, reason = _guess(name, kind, distinct, rows, rows - missing)
    weight = _WEIGHT if pa.types.is_floating(kind) else _SURVEY_WEIGHT
    numbers = pa.types.is_floating(kind) or pa.types.is_integer(kind)
    if numbers and re.fullmatch(weight, _plain_name(name)):
        hint = weight_hint(name)
    if not hint and pa.types.is_integer(kind) and re.search(_CODE, _plain_name(name)):
        hint = code_hint(distinct)
    return ColumnProfile(name, str(kind), distinct, missing, role, reason, hint)


def _short(kind: pa.DataType) -> str:
    """The type without its parts, of which there may be hundreds."""
    return str(kind).partition("<")[0]


def _guess(
    name: str, kind: pa.DataType, distinct: int, rows: int, present: int
) -> tuple[Role, str]:
    text, plain = pa.types.is_string(kind), _plain_name(name)
    if text and present >= _FEW_ROWS and distinct >= _NEARLY_ALL * present:
        return Role.IDENTIFIER, "nearly every row differs"
    sensitive = re.fullmatch(_SENSITIVE, plain) is not None
    # the name of a disease names nobody
    telling = plain.removesuffix("_name") if sensitive else plain
    if re.fullmatch(_IDENTIFIER, telling) and not pa.types.is_boolean(kind):
        return Role.IDENTIFIER, "its name"
    if sensitive:
        return Role.SENSITIVE, "its name"
    if re.fullmatch(_NUMBER, plain) and distinct > _MANY * rows:
        return Role.IDENTIFIER, "its name and many values"
    if (text or pa.types.is_integer(kind)) and distinct == rows and rows > 1:
        return Role.IDENTIFIER, "every row differs"
    return Role.QUASI, "could be known to others"


def _plain_name(name: str) -> str:
    """The words of a name in snake_case, CamelCase or plain writing, joined by underscores."""
    parted = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", name)
    return "_".join(re.findall(r"[^\W_]+", parted)).lower()


def _numbers_people(name: str) -> bool:
    return re.fullmatch(rf"{_NUMBER}|{_ONE_PER_PERSON}", _plain_name(name)) is not None
