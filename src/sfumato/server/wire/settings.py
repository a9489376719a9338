"""What a session can set and show: settings that tools send, and how answers are shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import cast, get_args

import sfumato
from sfumato.server.wire.answers import Mode
from sfumato.server.wire.errors import BAD_SETTING, WireError

VERSION = "14.0"
ANSWERS = "sfumato.answers"
RECEIPT = "sfumato.receipt"  # of the last answer, told with it
SCHEMA = "sfumato.schema"  # what is public of the database, as JSON
_FIXED = frozenset((RECEIPT, SCHEMA, "server_version", "server_version_num", "server_encoding"))

# told to every client at the start, and when they change
REPORTED = {
    "application_name": "application_name",
    "client_encoding": "client_encoding",
    "datestyle": "DateStyle",
    "default_transaction_read_only": "default_transaction_read_only",
    "in_hot_standby": "in_hot_standby",
    "integer_datetimes": "integer_datetimes",
    "intervalstyle": "IntervalStyle",
    "is_superuser": "is_superuser",
    "server_encoding": "server_encoding",
    "server_version": "server_version",
    "session_authorization": "session_authorization",
    "standard_conforming_strings": "standard_conforming_strings",
    "timezone": "TimeZone",
}
_USUAL = {
    "application_name": "",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "client_min_messages": "notice",
    "datestyle": "ISO, MDY",
    "default_table_access_method": "heap",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "on",
    "extra_float_digits": "1",
    "in_hot_standby": "off",
    "integer_datetimes": "on",
    "intervalstyle": "postgres",
    "is_superuser": "off",
    "lc_collate": "C",
    "lc_ctype": "C",
    "lc_monetary": "C",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "search_path": "public",
    "server_encoding": "UTF8",
    "server_version": f"{VERSION} (sfumato {sfumato.__version__})",
    "server_version_num": "140000",
    "session_authorization": "reader",
    ANSWERS: "interval",
    RECEIPT: "",
    SCHEMA: "",
    "ssl": "off",
    "standard_conforming_strings": "on",
    "statement_timeout": "0",
    "timezone": "UTC",
    "transaction_isolation": "read committed",
    "transaction_read_only": "on",
}
# nothing but these values has a meaning here; others would be promised and not kept
_ONLY = {
    "client_encoding": ("utf8", "utf-8", "unicode", "default", "auto"),
    "standard_conforming_strings": ("on", "true", "1", "yes", "default"),
    "integer_datetimes": ("on",),
}
_MOST, _LONGEST = 100, 1_000


@dataclass(slots=True)
class Settings:
    """The settings of one session."""

    _values: dict[str, str] = field(default_factory=lambda: dict(_USUAL))

    @property
    def mode(self) -> Mode:
        """How answers are shown."""
        return cast(Mode, self._values[ANSWERS])

    @property
    def receipt(self) -> str:
        """The receipt of the last answer."""
        return self._values[RECEIPT]

    @receipt.setter
    def receipt(self, receipt: str) -> None:
        self._values[RECEIPT] = receipt

    def get(self, name: str) -> str:
        """What a setting is."""
        found = self._values.get(name.lower())
        if found is None:
            raise WireError("42704", f"unrecognized configuration parameter {name[:63]!r}")
        return found

    def set(self, name: str, value: str) -> None:
        """Change a setting; unknown ones are kept, as tools set what they like."""
        name, value = name.lower(), value.strip()
        if name in _FIXED:
            raise WireError("55P02", f"parameter {name!r} cannot be changed")
        if name == ANSWERS and value.lower() not in get_args(Mode):
            known = ", ".join(get_args(Mode))
            raise WireError(BAD_SETTING, f"{ANSWERS} is one of {known}, not {value[:63]!r}")
        if name in _ONLY:
            if value.lower() not in _ONLY[name]:
                raise WireError(
                    BAD_SETTING, f"{name} is {_USUAL[name]} here, and not {value[:63]!r}"
                )
            return
        if len(name) > _LONGEST or len(value) > _LONGEST:
            raise WireError(BAD_SETTING, "the setting is too long")
        if name not in self._values and len(self._values) >= len(_USUAL) + _MOST:
            raise WireError(BAD_SETTING, "there are too many settings")
        if name == "datestyle":
            value = _USUAL[name]  # dates are in ISO form, whatever is asked for
        self._values[name] = value.lower() if name == ANSWERS else value

    def reset(self, name: str | None = None) -> None:
        """As it was at the beginning; all, if none is named."""
        for one in self._values if name is None else (name.lower(),):
            if one in _USUAL:
                self._values[one] = _USUAL[one]

    def reported(self) -> Iterator[tuple[str, str]]:
        """What every client is told at the start."""
        for name, shown in REPORTED.items():
            yield shown, self._values[name]

    def all(self) -> Iterable[tuple[str, str]]:
        """Everything, by name."""
        return sorted(self._values.items())
