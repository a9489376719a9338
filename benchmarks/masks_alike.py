"""The four masks side by side, on two real tables: what counts are worth, who is found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from benchmarks.measure import Line
from benchmarks.noise_floor import floors
from sfumato.algorithms.masking import Mask
from sfumato.audits.masking import moments_of

ROWS, QUESTIONS = 20_000, 150
FEW = 15  # questions of which it is looked for what anybody could tell
OFF, MISSED, FOUND = 0.1, 0.25, 0.2  # limits: counts, intervals that miss, the 1 / k of k = 5
TWICE = 2.0  # what no estimator can be sure of
MORE = 1.1  # times as often as people whom a model has not seen
TABLES: Mapping[str, tuple[list[str], str]] = {
    "adult": (["age", "education_num", "hours_per_week", "sex"], "occupation"),
    "cps_tax_units": (["age_head", "wages", "social_security", "state_fips"], "filing_status"),
}
CODES = {"state_fips", "filing_status"}
MASKS: Mapping[str, Mask] = {
    "microaggregate, k=5": sf.Microaggregate(5),
    "noise, 0.3": sf.Noise(0.3),
    "swap, 0.1": sf.Swap(0.1),
    "synthesize": sf.Synthesize(),
}


def lines(folder: Path) -> Iterator[Line]:
    """Three figures of every mask on every table."""
    for name in TABLES:
        table = read(folder, name)
        asked = questions(table)
        for made, mask in MASKS.items():
            release = sf.mask(table, mask, seed=1)
            yield from _measured(f"{name}, {made}", release, table, asked)


def read(folder: Path, name: str) -> sf.Microdata:
    """Some rows at random."""
    quasi, sensitive = TABLES[name]
    whole = pq.read_table(folder / f"{name}.parquet", columns=[*quasi, sensitive])
    some = np.random.default_rng(0).permutation(whole.num_rows)[:ROWS]
    plain = whole.take(pa.array(some))
    for place, one in enumerate(plain.column_names):
        if one in CODES:
            plain = plain.set_column(place, one, plain[one].cast(pa.string()))
    return sf.Microdata.from_arrow(plain, sf.Schema(quasi=quasi, sensitive=sensitive))


def questions(table: sf.Microdata) -> list[str]:
    """Two ranges of numbers, each with about a third of all ranks between its ends."""
    chance = np.random.default_rng(2)
    numbers = [one for one in table.quasi if one.kind == "numerical"]
    found = []
    for _ in range(QUESTIONS):
        parts = []
        for place in chance.permutation(len(numbers))[:2]:
            one = numbers[place]
            line = np.sort(one.positions[table.codes[one.name]])
            low = int(chance.integers(0, len(line) * 2 // 3))
            parts.append(f"{one.name} BETWEEN {line[low]:.0f} AND {line[low + len(line) // 3]:.0f}")
        found.append(" AND ".join(parts))
    return found


def _measured(
    what: str, release: sf.MaskedTable, table: sf.Microdata, asked: list[str]
) -> Iterator[Line]:
    off, missed, wide = [], [], []
    shares = [max(float(table.count(one).estimate or 0) / ROWS, 0.01) for one in asked[:FEW]]
    for one in asked:
        true, answer = float(table.count(one).estimate or 0), release.count(one)
        likely = answer.likely
        assert likely is not None
        off.append(abs(float(answer.estimate or 0) - true) / max(true, 0.01 * ROWS))
        missed.append(true not in likely)
        wide.append((likely.hi - likely.lo) / 2)
    moments = [one for one in moments_of(release, table) if one.figure == "correlation"]
    worst = max((abs(one.estimate - one.truth) for one in moments), default=0.0)
    naive = max((abs(one.shown - one.truth) for one in moments), default=0.0)
    detail = f"correlations off by {worst:.3f} at most, as shown by {naive:.3f}"
    yield Line(f"{what}: median error of counts", float(np.median(off)), OFF, "", detail)
    if release.manifest.algorithm["name"] == "noise":
        least, later = (
            float(np.median(np.divide(floors(release, table, asked[:FEW], times), shares)))
            for times in (1, 100)
        )
        detail = f"floor {least:.3f}; of a hundred times the rows {later:.3f}"
        over = f"{what}: median error of counts over the floor of all estimators"
        yield Line(over, float(np.median(off[:FEW])) / least, TWICE, "x", detail)
    detail = f"half as wide as {np.median(wide) / ROWS:.2%} of all rows"
    yield Line(f"{what}: 80% intervals that miss", float(np.mean(missed)), MISSED, "", detail)
    risk = sf.masking_risk(release, table)
    linked, beside = risk.words
    near = ", ".join(
        f"{name} {share:.0%} ({risk.near_blindly[name]:.0%})" for name, share in risk.near.items()
    )
    detail = f"{beside} {risk.linked_blindly:.4f}; within 5% of ranks: {near or '-'}"
    if risk.drawn:
        again = risk.linked / risk.linked_blindly
        yield Line(f"{what}: {linked}, over strangers", again, MORE, "x", detail)
    else:
        yield Line(f"{what}: {linked}", risk.linked, FOUND, "", detail)
