"""What a statistical database tells beyond 1/m: the equality leak, and what cohorts do about it.

    python -m sfumato_experiments.statdb.equality_leak [--data FOLDER] [--rows N] [--m M]

Makes databases of the same rows with different cohorts, and attacks each by questions alone, as
``sfumato.audits.attacks.equality`` says. The rows are generated: a value out of 8, and a
quasi-identifier that equals it in some of the rows and is drawn at random in the others. With a
folder they are employees of the Argentine survey with 50 salary classes, told by gender, education
and occupation. In both, a column ``person`` stands for all that singles a person out. The adversary
has learnt the correlation from other rows than those attacked, by naive Bayes, and in a second
attack knows the values of some persons and no correlation.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.audits.attacks.equality import Cohort, candidates_of_cohorts, closed, upper_ends
from sfumato.audits.attacks.frame import known_people
from sfumato.audits.attacks.naive_bayes import NaiveBayes
from sfumato.audits.attacks.outside import Outside, studied
from sfumato.audits.attacks.results import Accuracy
from sfumato.core.arrays import Ints
from sfumato_experiments.statdb.tables import SALARY, survey

PERSON = "person"
COHORTS = (1, 5, 8, 20, 64, None)
_KNOWN = 50  # one person in so many
_STUDIED = 50_000
_QUERIES = 500


class Population(NamedTuple):
    """The rows that are attacked, and others from which a correlation is learnt."""

    rows: pa.Table
    studied: pa.Table
    sensitive: str
    m: int

    @property
    def quasi(self) -> list[str]:
        """All columns but the sensitive one and ``person``."""
        return [name for name in self.rows.column_names if name not in (PERSON, self.sensitive)]


class Leak(NamedTuple):
    """What is learnt with one cohort size, as shares, and what the intervals are worth."""

    cohort: int | None
    equal: float  # pairs of rows with equal values of one bucket that are recognized
    by_correlation: float
    by_persons: float
    width: float  # average length of intervals over the average truth
    asked: int


def generated(rows: int, m: int = 4, *, strength: float = 0.08, seed: int = 0) -> Population:
    """Eight values, and a quasi-identifier that shows them with some probability."""
    random = np.random.default_rng(seed)
    shares = np.array([5, 4.5, 4, 3.5, 3, 2.5, 2, 1.5]) / 26

    def drawn(n: int) -> pa.Table:
        value = random.choice(8, n, p=shares)
        seen = np.where(random.random(n) < strength, value, random.integers(0, 8, n))
        return pa.table({PERSON: np.arange(n), "place": seen, "illness": value})

    return Population(drawn(rows), drawn(_STUDIED), "illness", m)


def employees(folder: Path, rows: int, m: int = 10) -> Population:
    """Real salaries; everybody is there once."""
    found = survey(folder, rows + _STUDIED).rows
    found = found.select(["gender", "education", "occupation", SALARY])
    found = found.add_column(0, PERSON, pa.array(np.arange(found.num_rows)))
    return Population(found.slice(0, rows), found.slice(rows), SALARY, m)


def measure(
    population: Population, cohorts: Sequence[int | None] = COHORTS, seed: int = 0
) -> Iterator[Leak]:
    """Attack one database per cohort size."""
    for cohort in cohorts:
        with tempfile.TemporaryDirectory() as folder:
            yield _attacked(population, cohort, Path(folder) / "statdb", seed)


def _attacked(population: Population, cohort: int | None, path: Path, seed: int) -> Leak:
    rows, sensitive = population.rows, population.sensitive
    schema = sf.Schema(quasi=[PERSON, *population.quasi], sensitive=sensitive)
    table = sf.read(rows, schema)
    db = sf.StatDB.create(
        path,
        table,
        m=population.m,
        first="signatures",
        cohort=cohort,
        seed=seed,
        experiment=True,
    )
    values, truth, asked = table.attributes[sensitive], table.codes[sensitive], 0
    ends = upper_ends(db, known_people(table), PERSON, values)

    def upper(persons: Sequence[int], value: int) -> int:
        nonlocal asked
        asked += 1
        return ends(persons, value)

    found = closed(upper, len(truth), values.size)
    people = _without_persons(population, rows)
    candidates = candidates_of_cohorts(found, people, values)
    others = studied(candidates, _without_persons(population, population.studied), sensitive)
    learnt = NaiveBayes().learn(candidates.quasi, *others, values.size)
    known = np.random.default_rng(seed).permutation(len(truth)) < len(truth) / _KNOWN
    told = Outside().guess(candidates, np.where(known, truth, -1))
    return Leak(
        cohort=cohort,
        equal=_equal_pairs(found, truth),
        by_correlation=Accuracy.of(Outside(learnt).guess(candidates), truth).right,
        by_persons=Accuracy.of(told, truth, ~known).right,
        width=_width(db, population),
        asked=asked,
    )


def _without_persons(population: Population, rows: pa.Table) -> sf.Microdata:
    schema = sf.Schema(quasi=population.quasi, sensitive=population.sensitive)
    return sf.read(rows.drop_columns([PERSON]), schema)


def _equal_pairs(cohorts: Sequence[Cohort], truth: Ints) -> float:
    """Recognized pairs over all pairs of equal rows that have a bucket in common."""
    together: dict[tuple[Any, Any], int] = {}
    recognized = 0
    for values, classes in cohorts:
        for rows in classes:
            assert len({truth[row] for row in rows}) == 1, "a class has one value"
            recognized += len(rows) * (len(rows) - 1)
            key = values, truth[rows[0]]
            together[key] = together.get(key, 0) + len(rows)
    return recognized / sum(size * (size - 1) for size in together.values())


def _width(db: sf.StatDB, population: Population) -> float:
    """Of a workload as in the paper over the quasi-identifiers, without ``person``."""
    table = _without_persons(population, population.rows)
    queries = sf.dynamic_workload(table, queries=_QUERIES, dimensionality=1, length=0.2, seed=0)
    answers, truth = db.counts(queries), table.counts(queries).lo
    return float((answers.hi - answers.lo).mean() / truth.mean())


def show(leaks: Iterator[Leak], m: int) -> Iterator[str]:
    """A table in Markdown."""
    yield (
        "| cohort | equal pairs found | guessed right: correlation "
        f"| guessed right: 1 person in {_KNOWN} known | interval length / truth | questions |"
    )
    yield "|---:|---:|---:|---:|---:|---:|"
    for leak in leaks:
        yield (
            f"| {leak.cohort} | {leak.equal:.0%} | {leak.by_correlation:.2f} "
            f"| {leak.by_persons:.2f} | {leak.width:.2f} | {leak.asked:,} |"
        )
    yield f"\n1/m = {1 / m:.2f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="folder of the survey; else generated rows")
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--m", type=int, help="default: 4 on generated rows, 10 on salaries")
    given = parser.parse_args()
    population = (
        employees(given.data, given.rows, given.m or 10)
        if given.data
        else generated(given.rows, given.m or 4)
    )
    for line in show(measure(population), population.m):
        print(line, flush=True)


if __name__ == "__main__":
    main()
