"""Whether a table can be the one that a release was made of."""

from __future__ import annotations

from sfumato.audits.evidence import evidence_on
from sfumato.core.schema import Role
from sfumato.engines.parts import TableParts
from sfumato.errors import DataError, SchemaError
from sfumato.forms.registry import Release, form_of


def require_same(release: Release, table: TableParts, *, whole: bool) -> None:
    """Raise unless the table can be the one that was published."""
    manifest, form = release.manifest, form_of(release)
    rows, counted = manifest.rows + manifest.suppressed, form.counted(release)
    if form.external:
        # the SI counts rows of the microdata, other lines are external people's
        rows = evidence_on(release, form.sizes_on).rows if counted and whole else table.n_rows
    if rows != table.n_rows:
        raise DataError(
            f"the release was made of {rows:,} rows and the table has {table.n_rows:,}; "
            "give the table that was published"
        )
    published = table.schema.sensitive if counted else ()
    for role, names in ((Role.QUASI, table.schema.quasi), (Role.SENSITIVE, published)):
        stated = {column.name for column in manifest.of_role(role)}
        if odd := sorted(stated.symmetric_difference(names)):
            raise SchemaError(
                f"column {odd[0]!r} is {role} {_where(odd[0], stated)}; "
                "give the schema that the release was made with",
                column=odd[0],
            )


def _where(name: str, stated: set[str]) -> str:
    return "in the release and not in the schema" if name in stated else "in the schema only"
