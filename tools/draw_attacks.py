"""Draw the pictures of docs/attacks.md: each attack made on people who are invented for it.

python -m tools.draw_attacks docs/pictures
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.audits.attacks.definetti import DeFinetti
from sfumato.audits.attacks.frame import known_people
from sfumato.audits.attacks.releases import candidates_of
from sfumato.audits.attacks.results import Scene
from sfumato.audits.masking.guessing import guessed, values_of
from tools.draw_partition import HAZE, INK, PAPER

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

RED, GREY, L = "#b3312c", "#c9bfb0", 4
_ILLNESSES = ("asthma", "cold", "flu", "gout", "mumps", "polio", "scurvy", "typhus")


def main(folder: str) -> None:
    """All of them."""
    for name, (draw, width) in PICTURES.items():
        figure, panels = plt.subplots(1, width, figsize=(4.6 * width, 2.8), facecolor=PAPER)
        draw(*np.atleast_1d(panels))
        figure.tight_layout()
        figure.savefig(Path(folder) / f"attack-{name}.png", dpi=90, facecolor=PAPER)
        plt.close(figure)


def people(n: int, seed: int) -> sf.Microdata:
    """Place and work lean on the illness."""
    random = np.random.default_rng(seed)
    illness = random.integers(0, 8, n)

    def leaning() -> pa.Array:
        return pa.array(np.where(random.random(n) < 0.45, illness, random.integers(0, 8, n)))

    rows = {"age": random.integers(20, 80, n), "place": leaning(), "work": leaning()}
    rows["illness"] = pa.array([_ILLNESSES[one] for one in illness])
    return sf.read(pa.table(rows), sf.Schema(quasi=["age", "place", "work"], sensitive="illness"))


def definetti(axes: Axes) -> None:
    """The share of right guesses, round by round."""
    table, rounds = people(8_000, 1), (0, 1, 2, 3, 5, 8, 12, 20)
    ways = {"the paper's groups": sf.Anatomize(near=False), "neighbours": sf.Anatomize()}
    for (name, way), colour in zip(ways.items(), (RED, INK), strict=True):
        release = sf.publish(table, way, sf.LDiversity(L), seed=1)
        scene = Scene.of(candidates_of(release, table), table)
        right = [scene.attacked(DeFinetti(rounds=n, tolerance=0)).right for n in rounds]
        axes.plot(rounds, right, color=colour, marker="o", ms=3, label=name)
    _promise(axes)
    _frame(axes, "Right guesses", "rounds of learning from the release")


def learner(axes: Axes) -> None:
    """With and without a release, by how many others were studied."""
    table, others, numbers = people(4_000, 1), people(8_000, 2), (50, 200, 1_000, 8_000)
    ways = {"the paper's groups": sf.Anatomize(near=False), "neighbours": sf.Anatomize()}
    for (name, way), colour in zip(ways.items(), (RED, INK), strict=True):
        release = sf.publish(table, way, sf.LDiversity(L), seed=1)
        seen = [
            sf.audit(release, table, others=others.take(np.arange(n)), attacks=["learner"],
                     control=False, known=0, seed=1)
            for n in numbers
        ]  # fmt: skip
        right = [one.findings[0].outcome.attacker.right for one in seen]
        axes.plot(numbers, right, color=colour, marker="o", ms=3, label=name)
    axes.plot(
        numbers, [one.baseline for one in seen], color=GREY, marker="o", ms=3, label="no release"
    )
    axes.set_xscale("log")
    _promise(axes)
    _frame(axes, "Right guesses", "other people studied")


def corruption(axes: Axes) -> None:
    """The share of right guesses about the others, by how many values are known."""
    table, shares = people(1_500, 3), (0.01, 0.05, 0.1, 0.2, 0.4)
    kinds: dict[str, dict[str, Any]] = {"cohort = 8": {"cohort": 8}, "neighbours": {}}
    for (name, kind), colour in zip(kinds.items(), (RED, INK), strict=True):
        with tempfile.TemporaryDirectory() as place:
            db = sf.StatDB.create(f"{place}/db", table, m=L, seed=1, experiment=True, **kind)
            attacks = [f"corruption {100 * one:g}%" for one in shares]
            seen = db.audit(attacks=attacks, known=shares, control=False, seed=1)
        right = [one.outcome.attacker.right for one in seen.findings]
        axes.plot([100 * one for one in shares], right, color=colour, marker="o", ms=3, label=name)
    _promise(axes)
    _frame(axes, "Right guesses about all others", "% of people whose value is known")


def equality(before: Axes, after: Axes) -> None:
    """The answers about every two people, as they stand and sorted into classes."""
    n, illness = 24, np.random.default_rng(5).permutation(np.repeat(np.arange(4), 6))
    rows = pa.table({"house": np.arange(n), "illness": [_ILLNESSES[one] for one in illness]})
    table = sf.read(rows, sf.Schema(quasi=["house"], sensitive="illness"))
    with tempfile.TemporaryDirectory() as place:
        db = sf.StatDB.create(
            f"{place}/db", table, m=L, first="signatures", cohort=None, seed=1, experiment=True
        )
        ends = [
            [db.count(f"house IN ({a}, {b}) AND illness = 'gout'").hi for b in range(n)]
            for a in range(n)
        ]
    found, order = np.array(ends), np.argsort(illness, kind="stable")
    for axes, picture in ((before, found), (after, found[np.ix_(order, order)])):
        axes.imshow(picture > 1, cmap=mpl.colors.ListedColormap([PAPER, INK]))
        axes.set_xticks([])
        axes.set_yticks([])
    _frame(before, "Every two people: do they end at 2?", "people, as they come")
    _frame(after, "The same, sorted: four classes", "people, class by class")


def composition(axes: Axes) -> None:
    """How many values are left for everybody, with one release and with two."""
    table = people(2_000, 4)
    both = [sf.publish(table, sf.Anatomize(near=False), sf.LDiversity(L), seed=n) for n in (1, 2)]
    lists = [_lists(one, table) for one in both]
    left = [len(a & b) for a, b in zip(*lists, strict=True)]
    places = np.arange(1, 6)
    for shift, name, counted, colour in (
        (-0.2, "one release", [len(one) for one in lists[0]], GREY),
        (0.2, "two releases", left, RED),
    ):
        shares = [100 * np.mean(np.array(counted) == one) for one in places]
        axes.bar(places + shift, shares, 0.38, color=colour, label=name)
    axes.legend(frameon=False, fontsize=8, labelcolor=INK)
    _frame(axes, "% of the people", "values that are still possible for a person")


def _lists(release: sf.AnatomizedTables, table: sf.Microdata) -> list[set[str]]:
    """The values of everybody's group, for people who are alone with what is known of them."""
    values: dict[int, set[str]] = {}
    for one in release.st.to_pylist():
        values.setdefault(one["group_id"], set()).add(one["illness"])
    names = table.schema.quasi
    homes: dict[tuple[int, ...], list[int]] = {}
    for row in release.qit.to_pylist():
        homes.setdefault(tuple(row[name] for name in names), []).append(row["group_id"])
    return [values[own[0]] for _, own in sorted(homes.items()) if len(own) == 1]


def joined(axes: Axes) -> None:
    """A list, the boxes of a join, and who is certainly there or not."""
    random = np.random.default_rng(2)
    n = 400
    rows = pa.table(
        {
            "id": np.arange(n),
            "age": random.integers(20, 80, n),
            "income": random.integers(10, 90, n),
        }
    )
    near = np.argsort(np.hypot(rows["age"].to_numpy() - 35, rows["income"].to_numpy() - 55))
    own = rows.take(np.sort(near[:150:4]))
    table = sf.read(own, sf.Schema(identifiers=["id"], quasi=["age", "income"]), id="id")
    release = sf.publish_join(table, rows, sf.Direct(sf.Mondrian()), sf.KJoinAnonymity(6), seed=1)
    boxes = {
        (one["age_min"], one["age_max"], one["income_min"], one["income_max"])
        for one in release.joined.to_pylist()
    }
    inside = np.zeros(n, bool)
    age, income = rows["age"].to_numpy(), rows["income"].to_numpy()
    for a, b, c, d in boxes:
        inside |= (a <= age) & (age <= b) & (c <= income) & (income <= d)
        axes.add_patch(Rectangle((a, c), b - a, d - c, facecolor=HAZE, alpha=0.3, edgecolor=INK))
    certain = np.array(sorted(sf.edge_attack(release, rows)), int)
    axes.scatter(age[inside], income[inside], s=9, color=INK, label="perhaps in it", linewidths=0)
    axes.scatter(
        age[~inside], income[~inside], s=9, color=GREY, label="certainly not", linewidths=0
    )
    axes.scatter(age[certain], income[certain], s=26, color=RED, label="certainly", linewidths=0)
    axes.legend(frameon=True, fontsize=7, labelcolor=INK, loc="upper right", facecolor=PAPER)
    _frame(axes, "income", "age")


def order(leaking: Axes, published: Axes) -> None:
    """Where people stand in the table, and in the file."""
    n = 300
    rows = pa.table({"person": np.arange(n), "illness": [_ILLNESSES[one % 8] for one in range(n)]})
    table = sf.read(rows, sf.Schema(quasi=["person"], sensitive="illness"))
    release = sf.publish(table, sf.Anatomize(), sf.LDiversity(L))
    lines, groups = release.qit["person"].to_numpy(), release.qit["group_id"].to_numpy()
    sorted_lines = lines[np.lexsort((lines, groups))]
    for axes, one in ((leaking, sorted_lines), (published, lines)):
        axes.scatter(np.arange(n), one, s=5, color=RED if axes is leaking else INK, linewidths=0)
    _frame(leaking, "Sorted inside groups: a leak", "line of the file", "row of the table")
    _frame(published, "As sfumato writes them", "line of the file", "row of the table")


def masks(axes: Axes) -> None:
    """How often values are named behind noise, by one near row and by the best number of them."""
    random = np.random.default_rng(1)
    illness = random.integers(0, 8, 2_000)
    numbers = {name: 10 * illness + random.normal(0, 12, 2_000) for name in ("age", "weight")}
    rows = pa.table({**numbers, "illness": [_ILLNESSES[one] for one in illness]})
    table = sf.read(rows, sf.Schema(quasi=["age", "weight"], sensitive="illness"))
    some, amounts, right = np.arange(500), (0.02, 0.1, 0.3, 0.6, 1.0), []
    for amount in amounts:
        release = sf.mask(table, sf.Noise(amount), seed=1)
        shown, true = values_of(release, table, "illness")
        every = guessed(release, known_people(table), shown, some)
        right.append([float((one.values == true[some]).mean()) for one in every])
    axes.plot(amounts, [one[0] for one in right], color=INK, marker="o", ms=3, label="nearest row")
    best = [max(one) for one in right]
    axes.plot(amounts, best, color=RED, marker="o", ms=3, label="nearest rows")
    axes.axhline(1 / 8, color=GREY, lw=1)
    axes.legend(frameon=False, fontsize=8)
    axes.set_ylim(0, 1)
    _frame(axes, "Right guesses", "noise, in standard deviations")


def newcomer(axes: Axes) -> None:
    """A newcomer's list, if it were filled up with what is frequent."""
    names = ("cold", "flu", "asthma", "gout", "scurvy")
    colours = [INK, INK, INK, GREY, RED]
    axes.bar(names, (31, 24, 19, 7, 2), color=colours)
    for place in (0, 1, 2, 4):
        axes.annotate("on the list", (place, 33), ha="center", fontsize=7, color=INK)
    axes.set_ylim(0, 38)
    _frame(axes, "% of the database", "the odd one out is the newcomer's")


def minimality(axes: Axes) -> None:
    """A box that was not cut, and why."""
    random = np.random.default_rng(1)
    x, y = (
        np.append(random.uniform(0, 4.8, 9), random.uniform(5.2, 10, 9)),
        random.uniform(0, 4, 18),
    )
    ill = np.array([1, 1, 1, 1, 1, 1, 0, 0, 0] + [0] * 9, bool)
    axes.add_patch(Rectangle((-0.3, -0.4), 10.6, 4.9, facecolor=HAZE, alpha=0.25, edgecolor=INK))
    axes.axvline(5, color=RED, ls="--", lw=1)
    axes.scatter(x[~ill], y[~ill], s=18, color=GREY, linewidths=0)
    axes.scatter(x[ill], y[ill], s=18, color=RED, linewidths=0)
    axes.set_ylim(-0.8, 5.6)
    axes.set_yticks([])
    axes.annotate(
        "not cut: so one half\nhas too much of a value", (5.1, 4.6), fontsize=7, color=INK
    )
    _frame(axes, "One box of 18, as published", "age")


def differences(axes: Axes) -> None:
    """Two questions that differ by one person: exact answers, and those of a database."""
    table = people(1_500, 6)
    age, illness = (table.attributes[n].decode(table.codes[n])[0] for n in ("age", "illness"))
    near = f"age BETWEEN {age.as_py() - 12} AND {age.as_py() + 12} AND illness = '{illness}'"
    asked = (near, f"{near} AND NOT age = {age}")
    with tempfile.TemporaryDirectory() as place:
        db = sf.StatDB.create(f"{place}/db", table, m=L, seed=1, experiment=True)
        for at, question in enumerate(asked):
            found, truth = db.count(question), table.count(question).lo
            axes.plot([found.lo, found.hi], [at, at], color=INK, lw=5, solid_capstyle="butt")
            axes.plot([truth], [at], "o", color=RED, ms=5)
    axes.set_yticks(range(len(asked)), ["a box", "the same without\none person's age"])
    axes.set_ylim(-0.6, 1.6)
    _frame(axes, "What is answered, and the truth (red)", "people")


def _promise(axes: Axes) -> None:
    axes.axhline(1 / L, color=INK, ls="--", lw=0.8)
    axes.set_ylim(0, 1)
    axes.legend(frameon=False, fontsize=8, labelcolor=INK)


def _frame(axes: Axes, title: str, below: str, beside: str = "") -> None:
    axes.set_title(title, color=INK, fontsize=10, loc="left")
    axes.set_xlabel(below, color=INK, fontsize=9)
    axes.set_ylabel(beside, color=INK, fontsize=9)
    axes.set_facecolor(PAPER)
    axes.tick_params(colors=INK, labelsize=8)
    for spine in axes.spines.values():
        spine.set_color(INK)
        spine.set_linewidth(0.5)


PICTURES: dict[str, tuple[Callable[..., None], int]] = {
    "definetti": (definetti, 1),
    "learner": (learner, 1),
    "corruption": (corruption, 1),
    "equality": (equality, 2),
    "composition": (composition, 1),
    "join": (joined, 1),
    "order": (order, 2),
    "newcomer": (newcomer, 1),
    "minimality": (minimality, 1),
    "differences": (differences, 1),
    "masks": (masks, 1),
}

if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures")
