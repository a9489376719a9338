"""Ways to spoil release.json, each with a word of the reason that must be given."""

# ruff: noqa: E501  (a line for each kind is easier to read than a broken one)

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.tampering.releases import APART, BOXES, EVERY

Stated = dict[str, Any]
Tampering = tuple[tuple[str, ...], Callable[[Path], None], str]


def restated(change: Callable[[Stated], Any]) -> Callable[[Path], None]:
    """Change what is stated, and write it as a release writes it."""

    def tamper(folder: Path) -> None:
        path = folder / "release.json"
        stated = json.loads(path.read_text())
        change(stated)
        path.write_text(json.dumps(stated, indent=2, ensure_ascii=False) + "\n")

    return tamper


def rewritten(change: Callable[[str], str]) -> Callable[[Path], None]:
    """Change the text itself."""

    def tamper(folder: Path) -> None:
        path = folder / "release.json"
        path.write_text(change(path.read_text()))

    return tamper


def column(stated: Stated, role: str = "quasi") -> Stated:
    found: Stated = next(one for one in stated["columns"] if one["role"] == role)
    return found


def reversed_keys(stated: Mapping[str, Any]) -> Stated:
    return dict(reversed(list(stated.items())))


def _in_order(stated: Stated) -> None:
    stated["columns"].append(stated["columns"].pop(0))


def _twice(stated: Stated) -> None:
    stated["columns"].append(dict(stated["columns"][0]))


def _more_digits(stated: Stated) -> None:
    stated["metrics"]["group_sizes"]["mean"] += 1e-11


FEW = ("ranges", "anatomized", "permuted", "perturbed", "refinement")
MASKS = ("microaggregated",)
GROUPED = ("ranges", "labels", "anatomized", "permuted", "refinement")

STATED: dict[str, Tampering] = {
    "an unknown field": (EVERY, restated(lambda s: s.update(note="call me")), "'note'"),
    "a field twice": (FEW, rewritten(lambda t: t.replace("{", '{"rows": 1,', 1)), "twice"),
    "a field of a column twice": (
        FEW, rewritten(lambda t: t.replace('"role":', '"role": "quasi", "role":', 1)), "twice"
    ),
    "other blanks": (EVERY, rewritten(lambda t: t.replace(": ", ":  ", 1)), "not written as"),
    "text after it": (FEW, rewritten(lambda t: t + " "), "not written as"),
    "escaped letters": (
        ("ranges",), rewritten(lambda t: t.replace('"sfumato"', '"sfum\\u0061to"')), "not written"
    ),
    "a mark of byte order": (FEW, rewritten(lambda t: "\ufeff" + t), "damaged"),
    "no object": (FEW, rewritten(lambda _: "[]"), "not an object"),
    "not a number": (FEW, rewritten(lambda t: t.replace('"rows": ', '"rows": NaN, "x": ', 1)), "NaN"),
    "another maker": (FEW, restated(lambda s: s.update(made_by="sfumato 0.1")), "made by"),
    "another version": (FEW, restated(lambda s: s.update(version=3)), "release format 3"),
    "checksums of another format": (
        FEW, restated(lambda s: s.update(version=1)), "states 'files'"
    ),
    "no checksums": (FEW, restated(lambda s: s.pop("files")), "lacks 'files'"),
    "no checksum of its own": (FEW, restated(lambda s: s.pop("checksum")), "lacks 'checksum'"),
    "a checksum with a message": (
        FEW, restated(lambda s: s["files"].update({next(iter(s["files"])): "Ada"})), "not a checksum"
    ),
    "a checksum of a file that is not there": (
        FEW, restated(lambda s: s["files"].update({"st_of Ada.csv": "0" * 64})), "not there"
    ),
    "a checksum of a file that is elsewhere": (
        FEW, restated(lambda s: s["files"].update({"../st.csv": "0" * 64})), "'../st.csv'"
    ),
    "another format": (FEW, restated(lambda s: s.update(format="other")), "not the manifest"),
    "a kind that is none": (FEW, restated(lambda s: s.update(kind="secret")), "'secret'"),
    "another kind": (APART, restated(lambda s: s.update(kind="generalized")), "generalized"),
    "a row more": (EVERY, restated(lambda s: s.update(rows=s["rows"] + 1)), "rows are stated"),
    "rows as a fraction": (FEW, restated(lambda s: s.update(rows=240.0)), "not a count"),
    "rows as truth": (FEW, restated(lambda s: s.update(suppressed=True)), "not a count"),
    "a group more": (EVERY, restated(lambda s: s.update(groups=s["groups"] + 1)), "groups are"),
    "rows left out that were not": (
        ("ranges", "anatomized", "permuted"), restated(lambda s: s.update(suppressed=7)), "left out"
    ),
    "fewer than no rows": (FEW, restated(lambda s: s.update(suppressed=-1)), "not a count"),
    "no promise": (EVERY, restated(lambda s: s.update(promise=[])), "promise"),
    "a promise of nothing": (
        FEW, restated(lambda s: s.update(promise=[{"model": "t-closeness", "t": 1.0, "on": "ill"}])),
        "promise",
    ),
    "a stronger promise": (
        GROUPED, restated(lambda s: s["promise"][0].update(
            {key: 90 for key in ("k", "l") if key in s["promise"][0]})), "group|rows|lines"
    ),
    "a promise with a note": (FEW, restated(lambda s: s["promise"][0].update(to="you")), "to|stated"),
    "a promise the other way round": (
        GROUPED, restated(lambda s: s["promise"].append(reversed_keys(s["promise"].pop()))), "another way"
    ),
    "a promise in another number": (
        ("ranges", "refinement"), restated(lambda s: s["promise"][0].update(k=5.0)), "whole number"
    ),
    "an unknown model": (FEW, restated(lambda s: s["promise"][0].update(model="safe")), "safe"),
    "a model without a name": (FEW, restated(lambda s: s["promise"][0].update(model=[1])), "model|form"),
    "a promise about no column": (
        ("anatomized", "permuted", "refinement"),
        restated(lambda s: s["promise"][-1].update(on="age")), "age|not a promise|nothing is promised",
    ),
    "somebody's own model": (
        ("ranges",), restated(lambda s: s.update(promise=[{"model": "custom", "class": "M", "on": "ill"}])),
        "of the publisher's own",
    ),
    "k where rows are exact": (
        (*APART, "two STs"), restated(lambda s: s["promise"].append({"model": "k-anonymity", "k": 2})),
        "not a promise of this form",
    ),
    "k-join without a join": (
        ("ranges",), restated(lambda s: s.update(promise=[{"model": "k-join-anonymity", "k": 2}])),
        "not a promise of the generalized form",
    ),
    "noise without noise": (
        GROUPED, restated(lambda s: s["promise"].append({"model": "perturbation", "on": "ill"})),
        "not a promise",
    ),
    "groups of noise": (
        ("perturbed",), restated(lambda s: s["promise"].append({"model": "k-anonymity", "k": 2})),
        "it has no groups",
    ),
    "more noise than there is": (
        ("perturbed",), restated(lambda s: s["promise"][0].update(m=5)), "keeps a guess at"
    ),
    "another domain": (
        ("perturbed",), restated(lambda s: s["promise"][0].update(domain_size=99)), "the domain has"
    ),
    "an algorithm with a message": (
        EVERY, restated(lambda s: s["algorithm"].update(name="mondrian, see you at 8")), "algorithm"
    ),
    "an option with a message": (EVERY, restated(lambda s: s["algorithm"].update(x="hi you")), "algorithm"),
    "an option that is none": (
        ("ranges", "anatomized"), restated(lambda s: s["algorithm"].update(depth=3)), "algorithm"
    ),
    "larger groups than there are": (
        ("anatomized", "two STs"), restated(lambda s: s["algorithm"].update(size=200)), "the smallest has"
    ),
    "slightly larger groups than there are": (
        ("anatomized",), restated(lambda s: s["algorithm"].update(size=16)), "18 rows or more, the smallest has 15"
    ),
    "smaller groups than there are": (
        ("anatomized",), restated(lambda s: s["algorithm"].update(size=3)), "5 rows or fewer, the largest has"
    ),
    "neighbours as the paper's groups": (
        ("anatomized",), restated(lambda s: s["algorithm"].update(near=False)), "said to be the paper's"
    ),
    "neighbours as groups of an earlier version": (
        ("anatomized",), restated(lambda s: [s["algorithm"].pop(key) for key in ("near", "size")]),
        "said to be the paper's",
    ),
    "the paper's groups as neighbours": (
        ("paper's groups",), restated(lambda s: s["algorithm"].update(near=True)), "the smallest has"
    ),
    "the paper's groups as neighbours of a size": (
        ("paper's groups",), restated(lambda s: s["algorithm"].update(near=True, size=6)), "the smallest has"
    ),
    "a frontier of larger groups": (
        ("frontier",), restated(lambda s: s["algorithm"].update(size=4)), "6 rows or more, the smallest has"
    ),
    "neighbours in blocks": (
        ("anatomized",), restated(lambda s: s["algorithm"].update(blocks=2)), "2 blocks"
    ),
    "more blocks than groups": (
        ("anatomized",), restated(lambda s: s["algorithm"].update(near=False, blocks=99)), "99 blocks"
    ),
    "an option out of range": (
        ("ranges",), restated(lambda s: s["algorithm"].update(choose="best")), "algorithm"
    ),
    "a search that is told": (
        ("ranges",), restated(lambda s: s["algorithm"].update(visited=12, lower_bound=0.5)), "algorithm"
    ),
    "a role that is none": (EVERY, restated(lambda s: column(s).update(role="identifier")), "role"),
    "no quasi-identifier": (
        ("anatomized", "permuted", "perturbed"),
        restated(lambda s: [one.update(role="insensitive") for one in s["columns"] if one["role"] == "quasi"]),
        "insensitive|quasi",
    ),
    "a quasi-identifier less": (
        ("anatomized", "permuted", "perturbed"), restated(lambda s: column(s).update(role="insensitive")),
        "insensitive",
    ),
    "a sensitive column less": (
        BOXES, restated(lambda s: column(s, "sensitive").update(role="insensitive")), "insensitive|about"
    ),
    "a form that is none": (FEW, restated(lambda s: column(s).update(form="magic")), "form"),
    "a form of others": (
        ("anatomized", "permuted"), restated(lambda s: column(s).update(form="range")), "published as"
    ),
    "other names of columns": (
        ("ranges",), restated(lambda s: column(s)["columns"].reverse()), "other names|before it starts"
    ),
    "a field of a column": (EVERY, restated(lambda s: column(s).update(hint="!")), "'hint'"),
    "a kind of column that is none": (FEW, restated(lambda s: column(s).update(kind="odd")), "kind"),
    "no kind of column": (FEW, restated(lambda s: column(s).pop("kind")), "neither numerical"),
    "another kind of column": (
        ("ranges", "refinement"), restated(lambda s: column(s).update(kind="categorical")), ""
    ),
    "an order of numbers": (FEW, restated(lambda s: column(s).update(order=[1, 2])), "order"),
    "an order of nothing": (FEW, restated(lambda s: column(s).update(order=[])), "list of values"),
    "a taxonomy that is none": (FEW, restated(lambda s: column(s).update(taxonomy={})), "taxonomy"),
    "tight or not": (FEW, restated(lambda s: column(s).update(tight=False)), "tight"),
    "a type of readable cells": (("ranges", "permuted"), restated(lambda s: column(s).update(type="int64")), "readable"),
    "no type of readable cells": (("text",), restated(lambda s: column(s).pop("type")), "readable"),
    "another type of readable cells": (
        ("text",), restated(lambda s: column(s).update(type="double")), "otherwise|figure|read|metrics"
    ),
    "a message for a type": (("text",), restated(lambda s: column(s).update(type="hi Bob")), "no type"),
    "tight without ranges": (
        ("anatomized", "permuted"), restated(lambda s: column(s).update(tight=True)), "tight"
    ),
    "columns in another order": (("permuted", "perturbed"), restated(_in_order), "another order"),
    "a column twice": (FEW, restated(_twice), "twice"),
    "another type": (
        FEW, restated(lambda s: s["types"].update({next(iter(s["types"])): "float32"})), "type"
    ),
    "a type that is none": (
        FEW, restated(lambda s: s["types"].update({next(iter(s["types"])): "hello"})), "type"
    ),
    "the type of no column": (FEW, restated(lambda s: s["types"].update(secret="string")), "type"),
    "types the other way round": (
        FEW, restated(lambda s: s.update(types=reversed_keys(s["types"]))), "type|another order"
    ),
    "another figure": (
        GROUPED, restated(lambda s: s["metrics"].update(discernibility=5)), "discernibility"
    ),
    "another loss": (("ranges", "labels"), restated(lambda s: s["metrics"].update(ncp=0.5)), "ncp"),
    "a figure more": (EVERY, restated(lambda s: s["metrics"].update(safe=1)), "metrics"),
    "a figure less": (EVERY, restated(lambda s: s["metrics"].popitem()), "metrics"),
    "a figure with a message": (GROUPED, restated(_more_digits), "group_sizes.mean"),
    "figures the other way round": (
        GROUPED, restated(lambda s: s.update(metrics=reversed_keys(s["metrics"]))), "metrics"
    ),
    "another size of groups": (
        GROUPED, restated(lambda s: s["metrics"]["group_sizes"]["histogram"].update({"3": 1})), "histogram"
    ),
    "an external table without a join": (
        ("ranges", "anatomized"), restated(lambda s: s.update(external={"source": "x", "rows": 1})),
        "external table",
    ),
    "no external table": (("refinement", "direct"), restated(lambda s: s.pop("external")), "external"),
    "a message about the external table": (
        ("refinement", "direct"), restated(lambda s: s["external"].update(note="hello")), "external"
    ),
    "a checksum that is none": (
        ("refinement",), restated(lambda s: s["external"].update(sha256="abc")), "external"
    ),
    "fewer than no external rows": (
        ("refinement",), restated(lambda s: s["external"].update(rows=-3)), "external"
    ),
    "an option of another kind": (
        ("ranges",), restated(lambda s: s["algorithm"].update(relaxed=[{"Ada": "has flu"}])), "algorithm"
    ),
    "an option as a number": (("ranges",), restated(lambda s: s["algorithm"].update(relaxed=0)), "algorithm"),
    "an algorithm of nobody's": (
        ("ranges", "anatomized"),
        restated(lambda s: s.update(algorithm={"name": "Ada-has-flu", "phone": 4917012345})), "algorithm",
    ),
    "one's own algorithm with a message": (
        ("ranges",), restated(lambda s: s.update(algorithm={"name": "own", "words": ["call", "Bob"]})),
        "algorithm",
    ),
    "an algorithm without a name": (
        ("ranges", "permuted"), restated(lambda s: s["algorithm"].update(name=None)), "algorithm"
    ),
    "queries without end": (
        ("ranges",), restated(lambda s: s["algorithm"].update(workload=10**40)), "algorithm"
    ),
    "an algorithm inside a join with a message": (
        ("refinement", "direct"),
        restated(lambda s: s["algorithm"]["algorithm"].update(relaxed=["hello"])), "algorithm",
    ),
    "more left out than there are": (
        ("perturbed", "refinement"), restated(lambda s: s.update(suppressed=10**40)), "left out"
    ),
    "less noise than there is": (("perturbed",), restated(lambda s: s["promise"][0].update(m=2)), "m is"),
    "noise that is no number": (
        ("perturbed",), restated(lambda s: s["promise"][0].update(m=" 3 ")), "are numbers"
    ),
    "noise that is true": (("perturbed",), restated(lambda s: s["promise"][0].update(m=True)), "numbers"),
    "a domain of a fraction": (
        ("perturbed",), restated(lambda s: s["promise"][0].update(domain_size=6.9)), "are numbers"
    ),
    "noise promised twice": (
        ("perturbed",), restated(lambda s: s["promise"].append({**s["promise"][0], "p": 0.9999})), "more than once"
    ),
    "a promise twice": (GROUPED, restated(lambda s: s["promise"].append(dict(s["promise"][0]))), "twice"),
    "a promise within some columns": (
        ("ranges", "labels"), restated(lambda s: s["promise"][0].update(within=["town"])), "within"
    ),
    "a promise next to nothing": (
        ("anatomized", "permuted"), restated(lambda s: s["promise"][0].update(l=1.000000001)), "promises nothing"
    ),
    "fewer external rows than lines": (
        ("refinement",), restated(lambda s: s["external"].update(rows=1)), "external"
    ),
    "more external rows than people": (
        ("refinement", "direct"), restated(lambda s: s["external"].update(rows=10**60)), "external"
    ),
    "a leaf that is nothing": (
        ("labels", "text"),
        restated(lambda s: next(c for c in s["columns"] if "taxonomy" in c)["taxonomy"]["any"]["north"].append(None)),
        "leaf|taxonomy",
    ),
    "a message about the seed": (FEW, restated(lambda s: s.update(seed="7")), "seed"),
    "a short seed": (
        FEW, restated(lambda s: s.update(seed="short, for experiments")), "whoever has the files"
    ),
    "a larger group": (MASKS, restated(lambda s: s["promise"][0].update(k=90)), "another k"),
    "a group that is larger throughout": (
        MASKS, restated(lambda s: (s["promise"][0].update(k=90), s["algorithm"].update(k=90))), "rows with age",
    ),
    "no k of a method that has one": (MASKS, restated(lambda s: s["promise"].pop(0)), "k-anonymity|groups"),
    "a mask of another method": (MASKS, restated(lambda s: s["algorithm"].update(name="mondrian")), "does not mask|cannot be"),
    "digits in a scatter": (
        MASKS, restated(lambda s: s["promise"][1]["spread"].update(age=3.14159265)), "spread"
    ),
    "a scatter that is no number": (MASKS, restated(lambda s: s["promise"][1]["spread"].update(age=True)), "spread"),
    "a scatter below nothing": (
        MASKS, restated(lambda s: s["promise"][1]["spread"].update(age=-1.0)), "variance"
    ),
    "a scatter of a column that is not": (MASKS, restated(lambda s: s["promise"][1]["spread"].update(Ada=1.0)), "spread"),
    "a scatter that is lopsided": (MASKS, restated(lambda s: s["promise"][1]["spread"].update(dose=1.0)), "does not go with"),
    "steps of another length": (MASKS, restated(lambda s: s["promise"][1].update(step=7)), "step"),
    "more changed than there is": (MASKS, restated(lambda s: s["promise"][3].update(changed=1.5)), "changed"),
    "a mask with a note": (MASKS, restated(lambda s: s["promise"][3].update(to="you")), "stated by"),
    "a mask of which nothing is said": (MASKS, restated(lambda s: s["promise"].pop(-2)), "does not say"),
    "intervals of which nothing is said": (MASKS, restated(lambda s: s["promise"].pop()), "does not say once"),
    "intervals of which much is said": (MASKS, restated(lambda s: s["promise"].append(s["promise"][-1])), "stated twice"),
    "intervals that are too short": (MASKS, restated(lambda s: s["promise"][-1].update(stretch=[0.5])), "stretch"),
    "intervals with a message": (MASKS, restated(lambda s: s["promise"][-1].update(stretch=[1.23456])), "stretch"),
    "swapping as far as it was not": (
        ("swapped",), restated(lambda s: s["promise"][0].update(reach=0.5)), "otherwise than the algorithm"
    ),
    "swapping inside what is not exact": (
        ("swapped",),
        restated(lambda s: [s["algorithm"].update(inside=["age"]), [p.update(inside=["age"]) for p in s["promise"]]]),
        "not published exactly",
    ),
    "columns that the method names, and others": (
        ("noisy", "swapped", "synthetic"), restated(lambda s: s["algorithm"].update(columns=["Ada"])), "names other columns"
    ),
    "reach that is none": (("swapped",), restated(lambda s: s["promise"][0].update(reach=2.0)), "reach"),
    "noise of another method": (("noisy",), restated(lambda s: s["promise"][0].update(model="swapping")), "does not mask|stated by"),
    "noise with k": (
        ("noisy",), restated(lambda s: s["promise"].insert(0, {"model": "k-anonymity", "k": 2})), "no other mask|k-anonymity"
    ),
    "a column that is said to be exact": (MASKS, restated(lambda s: column(s).update(form="value")), "does not say"),
}  # fmt: skip
