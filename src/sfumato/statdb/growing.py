"""Kept rows and newcomers in one table, whose public domains hold the values of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Ints
from sfumato.core.attribute import Attribute, encode
from sfumato.core.microdata import Microdata
from sfumato.statdb.arrivals import require_known
from sfumato.statdb.engine import Engine
from sfumato.statdb.public_domains import is_declared


def grown_domains(engine: Engine, rows: Microdata) -> dict[str, Attribute]:
    """The domains with the values that they lack, or why rows cannot come.

    One that was declared cannot grow, that of the sensitive attribute must not.
    """
    return {name: _widened(engine, engine.attributes[name], rows) for name in rows.codes}


def merged(engine: Engine, kept: Microdata, came: Microdata) -> Microdata:
    """Kept rows, then those that came."""
    attributes = grown_domains(engine, came)
    codes = {
        name: np.concatenate([codes_in(wider, kept, name), codes_in(wider, came, name)])
        for name, wider in attributes.items()
    }
    n_rows = kept.n_rows + came.n_rows
    nothing = pa.table({"": pa.nulls(n_rows)}).select([])
    return Microdata(kept.schema, n_rows, attributes, codes, nothing)


def codes_in(attribute: Attribute, table: Microdata, name: str) -> Ints:
    """A column's codes in another domain of the attribute; -1 for what that lacks."""
    theirs = table.attributes[name]
    places = pc.index_in(theirs.values, attribute.values)
    missing = attribute.missing_code if attribute.has_missing else -1
    codes = np.append(places.fill_null(-1).to_numpy(zero_copy_only=False), missing)
    narrow = np.min_scalar_type(-attribute.size - 1)
    found: Ints = codes.astype(narrow)[table.codes[name]]
    return found


def _widened(engine: Engine, own: Attribute, rows: Microdata) -> Attribute:
    theirs = rows.attributes[own.name]
    if own.name == engine.sensitive:
        require_known(own, theirs, rows.codes[own.name])
        return own
    both = pa.chunked_array([own.values, theirs.values])
    order = own.values.to_pylist() if is_declared(engine.schema, own.name) else None
    wider, _ = encode(own.name, both, kind=own.kind, order=order)
    return replace(own, values=wider.values, has_missing=own.has_missing or theirs.has_missing)
