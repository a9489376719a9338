"""Attributes and schema as a store's header describes them; the values stand in files beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from sfumato.core.attribute import Attribute, Kind
from sfumato.core.binning import stated_bins
from sfumato.core.schema import Declaration, Schema
from sfumato.core.taxonomy import Taxonomy
from sfumato.core.words import Words


def stated_schema(schema: Schema, attributes: Mapping[str, Attribute]) -> dict[str, Any]:
    """Roles by name, and what is known of every attribute beside its values."""
    words = schema.words.to_dict()
    return {
        **({"words": words} if words else {}),
        **({"points": {n: list(p) for n, p in schema.points.items()}} if schema.points else {}),
        "identifiers": list(schema.identifiers),
        "quasi": list(schema.quasi),
        "sensitive": list(schema.sensitive),
        "insensitive": list(schema.insensitive),
        "attributes": {
            name: {
                "kind": str(attribute.kind),
                "ordered": attribute.ordered,
                "has_missing": attribute.has_missing,
                "declared": is_declared(schema, name),
                "bins": stated_bins(schema.declarations.get(name, Declaration()).bins),
                "taxonomy": attribute.taxonomy and attribute.taxonomy.to_nested(),
            }
            for name, attribute in attributes.items()
        },
    }


def restored_attributes(
    stated: Mapping[str, Any], domains: Mapping[str, pa.Array]
) -> dict[str, Attribute]:
    """The attributes that were stated so."""
    return {
        name: Attribute(
            name=name,
            kind=Kind(one["kind"]),
            values=domains[name],
            ordered=bool(one["ordered"]),
            has_missing=bool(one["has_missing"]),
            taxonomy=_tree(one["taxonomy"], domains[name]),
        )
        for name, one in stated["attributes"].items()
    }


def restored_schema(stated: Mapping[str, Any], attributes: Mapping[str, Attribute]) -> Schema:
    """The schema that was stated so: what was declared is declared with the domain's values.

    Bins stay bins: the classes are the domain's values, and numbers have one of them.
    """
    orders, kinds, bins = {}, {}, {}
    for name, attribute in attributes.items():
        if attribute.taxonomy is not None:
            continue
        if stated["attributes"][name].get("bins") is not None:  # older stores do not tell
            bins[name] = stated["attributes"][name]["bins"]
        elif stated["attributes"][name]["declared"]:
            orders[name] = attribute.values.to_pylist()
        else:
            kinds[name] = attribute.kind
    return Schema(
        identifiers=stated["identifiers"],
        quasi=stated["quasi"],
        sensitive=stated["sensitive"],
        insensitive=stated["insensitive"],
        kinds=kinds,
        orders=orders,
        bins=bins,
        taxonomies={
            name: attribute.taxonomy
            for name, attribute in attributes.items()
            if attribute.taxonomy is not None
        },
        words=Words(**stated.get("words", {})),
        points=stated.get("points", {}),
    )


def is_declared(schema: Schema, name: str) -> bool:
    """Whether the domain was given beforehand, so that no row can bring another value."""
    declared = schema.declarations.get(name, Declaration())
    return declared.order is not None or declared.bins is not None or name in schema.taxonomies


def _tree(stated: Mapping[str, Any] | None, values: pa.Array) -> Taxonomy | None:
    # leaves come back from JSON as texts; labels and domain must agree on what a value is
    return None if stated is None else Taxonomy.from_nested(stated).with_leaves(values.to_pylist())
