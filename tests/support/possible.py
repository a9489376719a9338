"""Every table that could have been published like a release (Dynamic anonymization, Definition 8).

For tiny releases only. Rows are dictionaries; fractions are left out, there is no end of them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any

from sfumato.core.askable import Askable
from sfumato.core.attribute import Kind
from sfumato.core.microdata import Microdata
from sfumato.core.query import Aggregate
from sfumato.core.schema import Role
from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.joined.release import SENSITIVE_GROUP, JoinRelease
from sfumato.forms.masked.release import MaskedTable
from sfumato.forms.permuted.release import PermutedTable
from sfumato.forms.perturbed.release import PerturbedTable
from sfumato.queries.binding import BoundQuery
from tests.support.releases import rows_of, values_inside

Table = list[dict[str, Any]]


def of_microdata(table: Microdata) -> Iterator[Table]:
    """A table is published as it is to its owner."""
    yield rows_of(table)


def of_generalized(release: GeneralizedTable) -> Iterator[Table]:
    """Every row may have any value of its box."""
    published = release.table
    columns = release.manifest.columns
    choices = [
        [values_inside(column, row, published) for column in columns]
        for row in published.to_pylist()
    ]
    names = [column.name for column in columns]
    rows = [[dict(zip(names, values, strict=True)) for values in product(*row)] for row in choices]
    for table in product(*rows):
        if _has_means(release, table):
            yield list(table)


def of_anatomized(release: AnatomizedTables) -> Iterator[Table]:
    """The values of a group's ST may belong to its rows in any order, attribute by attribute."""
    values = {
        (name, record["group_id"], place): [record[name]] * record["count"]
        for name, st in release.sts.items()
        for place, record in enumerate(st.to_pylist())
    }
    yield from _dealt(release.qit.to_pylist(), list(release.sts), values)


def of_permuted(release: PermutedTable) -> Iterator[Table]:
    """The values that a group shows may belong to its rows in any order, attribute by attribute."""
    rows = release.table.to_pylist()
    names = [column.name for column in release.manifest.of_role(Role.SENSITIVE)]
    values = {
        (name, row["group_id"], place): [row[name]]
        for name in names
        for place, row in enumerate(rows)
    }
    yield from _dealt(rows, names, values)


def _dealt(
    rows: Table, names: list[str], values: dict[tuple[str, int, int], list[Any]]
) -> Iterator[Table]:
    """All ways to deal to the rows of a group the values of (attribute, group, anything)."""
    groups = sorted({row["group_id"] for row in rows})
    members = {g: [row for row in rows if row["group_id"] == g] for g in groups}
    orders = []
    for name, g in product(names, groups):
        held = [value for key, some in values.items() if key[:2] == (name, g) for value in some]
        orders.append([(name, g, order) for order in sorted(set(permutations(held)), key=str)])
    for chosen in product(*orders):
        table = {g: [dict(row) for row in members[g]] for g in groups}
        for name, g, order in chosen:
            for row, value in zip(table[g], order, strict=True):
                row[name] = value
        yield [row for g in groups for row in table[g]]


def of_perturbed(release: PerturbedTable) -> Iterator[Table]:
    """Every row may have any value of the domain, whatever it shows."""
    shown = release.table.to_pylist()
    domains = [domain[name].to_pylist() for name, domain in release.domains.items()]
    values = [dict(zip(release.domains, chosen, strict=True)) for chosen in product(*domains)]
    for table in product(values, repeat=len(shown)):
        yield [{**row, **value} for row, value in zip(shown, table, strict=True)]


def of_masked(release: MaskedTable) -> Iterator[Table]:
    """Every row may have any value, whatever it shows; a few of these stand for all."""
    shown = release.table.to_pylist()
    numbers, letters = [-1, 0, 1, 2, 3, 4, None], ["a", "b", "c", None]
    domains = [
        numbers if column.kind == Kind.NUMERICAL else letters
        for column in release.manifest.columns
        if column.form == "masked"
    ]
    for chosen in product(product(*domains), repeat=len(shown)):
        yield [
            {**row, **dict(zip(release.distortions, values, strict=True))}
            for row, values in zip(shown, chosen, strict=True)
        ]


def of_joined(release: JoinRelease) -> Iterator[Table]:
    """Of every box one line at least is a row of the microdata, with any value of the box; the
    SI's values may belong to the rows of a sensitive group in any order, attribute by attribute.
    """
    lines: dict[str, Table] = {}
    for line in release.joined.to_pylist():
        lines.setdefault(str(line), []).append(line)
    boxes = [(some[0], len(some)) for some in lines.values()]
    names = [name for name in release.sis if name]
    values = {
        (name, record[SENSITIVE_GROUP], place): [record[name]] * record["count"]
        for name in names
        for place, record in enumerate(release.sis[name].to_pylist())
    }
    sizes: Counter[int] = Counter()
    for record in next(iter(release.sis.values())).to_pylist():
        sizes[record[SENSITIVE_GROUP]] += record["count"]
    for held in product(*(range(1, most + 1) for _, most in boxes)):
        counted: Counter[int] = Counter()
        for (line, _), rows in zip(boxes, held, strict=True):
            counted[line[SENSITIVE_GROUP]] += rows
        if counted == sizes:
            for placed in _placed(release, [line for line, _ in boxes], held):
                yield from _dealt(placed, names, values)


def _placed(release: JoinRelease, boxes: Table, held: Sequence[int]) -> Iterator[Table]:
    """All ways to place so many rows in the boxes."""
    columns = release.manifest.of_role(Role.QUASI)
    groups = [
        line[SENSITIVE_GROUP] for line, rows in zip(boxes, held, strict=True) for _ in range(rows)
    ]
    cells = [
        list(product(*(values_inside(column, line, release.joined) for column in columns)))
        for line, rows in zip(boxes, held, strict=True)
        for _ in range(rows)
    ]
    names = [column.name for column in columns]
    for chosen in product(*cells):
        yield [
            {"group_id": group, **dict(zip(names, values, strict=True))}
            for group, values in zip(groups, chosen, strict=True)
        ]


POSSIBLE: dict[type[Askable], Any] = {
    Microdata: of_microdata,
    GeneralizedTable: of_generalized,
    AnatomizedTables: of_anatomized,
    PermutedTable: of_permuted,
    PerturbedTable: of_perturbed,
    MaskedTable: of_masked,
    JoinRelease: of_joined,
}


def truth(rows: Table, query: BoundQuery, aggregate: Aggregate) -> Any:
    """What SQL would say about a table; None for a function of no rows."""
    chosen = [
        row for row in rows if all(wanted.holds(row[name]) for name, wanted in query.where.items())
    ]
    if aggregate.attribute is None:
        return len(chosen)
    values = [row[aggregate.attribute] for row in chosen if row[aggregate.attribute] is not None]
    if aggregate.function == "count":
        return len(values)
    if aggregate.function == "sum":
        return sum(values)  # the sum of nothing is 0 here, see core.answer
    if not values:
        return None
    if aggregate.function == "avg":
        return sum(values) / len(values)
    return min(values) if aggregate.function == "min" else max(values)


def _has_means(release: GeneralizedTable, rows: tuple[dict[str, Any], ...]) -> bool:
    """Whether groups have the means that were published; groups are told apart by their boxes."""
    for column in release.manifest.columns:
        if f"{column.name}_mean" not in column.columns:
            continue
        stated = release.groups.column(f"{column.name}_mean").to_pylist()
        for group, mean in enumerate(stated):
            inside = [
                row[column.name]
                for row, of in zip(rows, release.group_of_row.tolist(), strict=True)
                if of == group and row[column.name] is not None
            ]
            if mean is not None and abs(sum(inside) - mean * len(inside)) > 1e-9:
                return False
    return True
