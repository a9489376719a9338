"""Public domains that hold the values of newcomers, too, and codes in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Ints
from sfumato.core.attribute import Attribute, encode
from sfumato.core.microdata import Microdata
from sfumato.statdb.responder import Responder
from sfumato.statdb.store.domains import is_declared
from sfumato.statdb.updates.rows import require_known


def grown_domains(responder: Responder, rows: Microdata) -> dict[str, Attribute]:
    """The domains with the values that they lack, or why rows cannot come.

    One that was declared cannot grow, that of the sensitive attribute must not.
    """
    return {name: _widened(responder, responder.attributes[name], rows) for name in rows.codes}


def recoded(old: Attribute, new: Attribute, codes: Ints) -> Ints:
    """Codes of a domain in one that has grown from it."""
    places = pc.index_in(old.values, new.values).to_numpy(zero_copy_only=False)
    table = np.append(places, new.missing_code if new.has_missing else -1)
    found: Ints = table.astype(_narrow(new))[codes]
    return found


def codes_in(attribute: Attribute, table: Microdata, name: str) -> Ints:
    """A column's codes in another domain of the attribute; -1 for values not in it."""
    theirs = table.attributes[name]
    places = pc.index_in(theirs.values, attribute.values)
    missing = attribute.missing_code if attribute.has_missing else -1
    codes = np.append(places.fill_null(-1).to_numpy(zero_copy_only=False), missing)
    found: Ints = codes.astype(_narrow(attribute))[table.codes[name]]
    return found


def _narrow(attribute: Attribute) -> np.dtype[Any]:
    return np.min_scalar_type(-attribute.size - 1)


def _widened(responder: Responder, own: Attribute, rows: Microdata) -> Attribute:
    theirs = rows.attributes[own.name]
    if own.name == responder.sensitive:
        require_known(own, theirs, rows.codes[own.name])
        return own
    if pc.index_in(theirs.values, own.values).null_count == 0:
        return own if own.has_missing or not theirs.has_missing else replace(own, has_missing=True)
    both = pa.chunked_array([own.values, theirs.values])
    order = own.values.to_pylist() if is_declared(responder.schema, own.name) else None
    wider, _ = encode(own.name, both, kind=own.kind, order=order)
    return replace(own, values=wider.values, has_missing=own.has_missing or theirs.has_missing)
