"""One small honest release of every form, to be copied and spoiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.forms.registry import Release
from sfumato.verbs import perturb

N = 240
TREE = {"any": {"north": ["Kiel", "Husum"], "south": ["Ulm", "Passau"]}}
ILLS = ["flu", "cold", "gout", "café", "20", "asthma"]


def rows() -> pa.Table:
    chance = np.random.default_rng(7)
    ages = [None if i % 40 == 0 else int(age) for i, age in enumerate(chance.integers(20, 60, N))]
    return pa.table(
        {
            "who": list(range(N)),
            "age": pa.array(ages, pa.int64()),
            "dose": chance.integers(0, 12, N) / 2,
            "town": chance.choice(["Kiel", "Husum", "Ulm", "Passau"], N),
            "job": chance.choice(["nurse, night", "cook", "smith"], N),
            "ill": np.resize(ILLS, N)[chance.permutation(N)],
            "note": chance.choice(["x", "y"], N),
        }
    )


def table(**roles: Any) -> sf.Microdata:
    given: dict[str, Any] = {
        "quasi": ["age", "dose", "town", "job"],
        "sensitive": ["ill"],
        "insensitive": ["note"],
        "taxonomies": {"town": sf.Taxonomy.from_nested(TREE)},
    }
    schema = sf.Schema(**{**given, **roles})
    return sf.Microdata.from_arrow(rows(), schema)


def joined(method: Any) -> Release:
    own = rows().filter(pa.array([age is not None for age in rows()["age"].to_pylist()]))
    schema = sf.Schema(identifiers=["who"], quasi=["age", "dose", "job"], sensitive=["ill"])
    microdata = sf.Microdata.from_arrow(own.slice(0, 120), schema, id="who")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sf.publish_join(microdata, own, method(sf.Mondrian()), sf.KJoinAnonymity(5))


def boxes(labels: Any, **more: Any) -> Release:
    return sf.publish(table(), sf.Mondrian(), sf.KAnonymity(6), labels=labels, **more)


MAKERS: dict[str, Callable[[], Release]] = {
    "ranges": lambda: boxes("ranges", means=["dose"]),
    "sets": lambda: boxes("sets"),
    "labels": lambda: boxes("taxonomy"),
    "cells": lambda: sf.publish(table(), sf.Mondrian(), sf.LDiversity(2), labels="suppression"),
    "text": lambda: boxes("text"),
    "anatomized": lambda: sf.publish(table(), sf.Anatomize(), sf.LDiversity(3)),
    "paper's groups": lambda: sf.publish(table(), sf.Anatomize(near=False), sf.LDiversity(3)),
    "frontier": lambda: sf.publish(table(), sf.Frontier(), sf.LDiversity(3)),
    "two STs": lambda: sf.publish(
        table(quasi=["age"], sensitive=["ill", "job"], taxonomies={}),
        sf.Anatomize(),
        sf.LDiversity(2),
    ),
    "permuted": lambda: sf.publish(table(), sf.Mondrian(), sf.LDiversity(2), form="permuted"),
    "perturbed": lambda: perturb(table(), m=3),
    "microaggregated": lambda: sf.mask(table(), sf.Microaggregate(k=4)),
    "noisy": lambda: sf.mask(table(quasi=["age"], sensitive=["dose"], taxonomies={}), sf.Noise()),
    "swapped": lambda: sf.mask(table(), sf.Swap(0.2)),
    "refinement": lambda: joined(sf.Refinement),
    "direct": lambda: joined(sf.Direct),
}
# written like the microaggregated one, but for what is stated of columns
OTHER_MASKS = ("noisy", "swapped")
EVERY = tuple(name for name in MAKERS if name not in OTHER_MASKS)
BOXES = ("ranges", "sets", "labels", "cells", "text")
APART = ("anatomized", "permuted")
MAIN = {
    **dict.fromkeys(BOXES, "generalized"), "anatomized": "qit", "paper's groups": "qit",
    "frontier": "generalized", "two STs": "qit",
    "permuted": "permuted", "perturbed": "perturbed", "microaggregated": "masked",
    "noisy": "masked", "swapped": "masked",
    "refinement": "joined", "direct": "joined",
}  # fmt: skip
