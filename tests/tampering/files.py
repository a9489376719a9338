"""Ways to spoil the files of a release, and what their tables say."""

# ruff: noqa: E501  (a line for each kind is easier to read than a broken one)

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.io.writing import write_parquet
from tests.tampering.releases import APART, BOXES, EVERY
from tests.tampering.stated import FEW, Tampering, restated

Change = Callable[[pa.Table], pa.Table]
SOME = ("ranges", "anatomized", "perturbed", "direct")


def main_file(folder: Path) -> Path:
    """The largest table."""
    names = ("generalized", "qit", "permuted", "perturbed", "masked", "joined")
    return next(path for path in folder.iterdir() if path.stem in names)


def in_folder(work: Callable[[Path], object]) -> Callable[[Path], None]:
    def tamper(folder: Path) -> None:
        work(folder)

    return tamper


def stored(stem: str | None = None, **options: Any) -> Callable[[Path], None]:
    """The same table in a Parquet file of another sort."""

    def tamper(folder: Path) -> None:
        path = folder / f"{stem}.parquet" if stem else main_file(folder)
        ours: dict[str, Any] = {"compression": "zstd", "store_schema": False}
        pq.write_table(pq.read_table(path), path, **{**ours, **options})

    return tamper


def changed(change: Change, stem: str | None = None) -> Callable[[Path], None]:
    """Another table, in a file as a release writes it."""

    def tamper(folder: Path) -> None:
        path = folder / f"{stem}.parquet" if stem else main_file(folder)
        write_parquet(change(pq.read_table(path)), path)

    return tamper


def raw(change: Change) -> Callable[[Path], None]:
    """Another table, written as it is: with metadata, dictionaries and all."""

    def tamper(folder: Path) -> None:
        path = main_file(folder)
        table = change(pq.read_table(path))
        pq.write_table(table, path, compression="zstd", store_schema=False)

    return tamper


def line(change: Callable[[str], str], place: int = 1) -> Callable[[Path], None]:
    """Another text in one line of a CSV file."""

    def tamper(folder: Path) -> None:
        path = main_file(folder)
        lines = path.read_text().splitlines(keepends=True)
        lines[place] = change(lines[place])
        path.write_text("".join(lines), newline="")

    return tamper


def text(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def tamper(folder: Path) -> None:
        path = main_file(folder)
        path.write_bytes(change(path.read_bytes()))

    return tamper


def cell(name: str, value: object, row: int = 0) -> Change:
    """The same table with another value in one cell."""

    def change(table: pa.Table) -> pa.Table:
        values = table[name].to_pylist()
        values[row] = value(values[row]) if callable(value) else value
        column = pa.array(values, table.schema.field(name).type)
        return table.set_column(table.column_names.index(name), name, column)

    return change


def group(name: str, value: object) -> Change:
    """The same table with another value in all rows that begin with it."""

    def change(table: pa.Table) -> pa.Table:
        values = table[name].to_pylist()
        first = values[0]
        new = value(first) if callable(value) else value
        alike = [new if one == first else one for one in values]
        column = pa.array(alike, table.schema.field(name).type)
        return table.set_column(table.column_names.index(name), name, column)

    return change


def _hidden_bytes(data: bytes) -> bytes:
    """Bytes before the footer that nothing refers to."""
    length = int.from_bytes(data[-8:-4], "little")
    footer = len(data) - 8 - length
    return data[:footer] + b"a list of names" + data[footer:]


def _longer_dictionary(table: pa.Table) -> pa.Table:
    """A text column whose dictionary lists somebody that no row shows."""
    at = next(i for i, kind in enumerate(table.schema.types) if pa.types.is_string(kind))
    plain = table.column(at).combine_chunks().dictionary_encode()
    longer = pa.concat_arrays([plain.dictionary, pa.array(["Ada Lovelace"])])
    column = pa.DictionaryArray.from_arrays(plain.indices, longer)
    return table.set_column(at, table.column_names[at], column)


def _with_metadata(folder: Path) -> None:
    path = main_file(folder)
    table = pq.read_table(path)
    with pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"owner": "Ada"})


def _with_field_metadata(table: pa.Table) -> pa.Table:
    first = table.schema.field(0).with_metadata({"PARQUET:field_id": "77"})
    return table.cast(pa.schema([first, *list(table.schema)[1:]]))


def _unsorted(table: pa.Table) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))


def _renumbered(table: pa.Table) -> pa.Table:
    at = table.column_names.index("group_id")
    return table.set_column(at, "group_id", pc.add(pc.multiply(table["group_id"], 2), 5))


def both_tables(change: Change) -> Callable[[Path], None]:
    def tamper(folder: Path) -> None:
        for path in folder.glob("*.parquet"):
            write_parquet(change(pq.read_table(path)), path)

    return tamper


def _copied(folder: Path) -> None:
    path = main_file(folder)
    other = ".csv" if path.suffix == ".parquet" else ".parquet"
    shutil.copy(path, path.with_suffix(other))


def _linked(folder: Path) -> None:
    path = main_file(folder)
    path.rename(folder.parent / "elsewhere")
    path.symlink_to(folder.parent / "elsewhere")


def _of_another_version(data: bytes) -> bytes:
    """A version that may be named, in the place of ours."""
    return data.replace(f"version {pa.cpp_version}".encode(), b"version 11.1.1")


def _with_type(
    folder: Path, stem: str, name: str, change: Callable[[pa.ChunkedArray], Any]
) -> None:
    """Another type of a column, and release.json that states it."""
    path = folder / f"{stem}.parquet"
    table = pq.read_table(path)
    column = change(table[name])
    write_parquet(table.set_column(table.column_names.index(name), name, column), path)
    restated(lambda s: s["types"].update({name: str(column.type)}))(folder)


def spelled(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    """All cells of a readable column in another spelling."""
    return changed(lambda t: t.set_column(
        t.column_names.index(name), name,
        pa.array([v and change(v) for v in t[name].to_pylist()], pa.string())))  # fmt: skip


FOLDERS: dict[str, Tampering] = {
    "a file more": (EVERY, in_folder(lambda f: (f / "names.csv").write_text("x\n")), "not part"),
    "a hidden file": (FEW, in_folder(lambda f: (f / ".notes").write_text("x")), "'.notes'"),
    "a folder": (FEW, in_folder(lambda f: (f / "more").mkdir()), "'more'"),
    "a copy of release.json": (
        FEW, in_folder(lambda f: shutil.copy(f / "release.json", f / "release.json~")), "not part"
    ),
    "a table in two formats": (FEW, in_folder(_copied), "twice|cannot be read|in two formats"),
    "a table less": (FEW, in_folder(lambda f: main_file(f).unlink()), "has no"),
    "a link": (FEW, in_folder(_linked), "not part"),
    "an empty table": (FEW, in_folder(lambda f: main_file(f).write_bytes(b"")), "cannot|read|empty"),
}  # fmt: skip

PARQUET: dict[str, Tampering] = {
    "metadata of the file": (
        EVERY, in_folder(_with_metadata), "more than its table"
    ),
    "metadata of a column": (FEW, raw(_with_field_metadata), "more than its table"),
    "Arrow's schema": (FEW, stored(store_schema=True), "more than its table"),
    "bytes of nobody": (EVERY, text(_hidden_bytes), "more than its table"),
    "bytes at the end": (FEW, text(lambda b: b + b"hi"), "cannot|read"),
    "another compression": (FEW, stored(compression="gzip"), "in another way"),
    "another level of compression": (FEW, stored(compression_level=19), "in another way"),
    "other pages": (FEW, stored(data_page_size=16, write_batch_size=8), "in another way"),
    "other encodings": (FEW, stored(use_dictionary=False), "in another way"),
    "no statistics": (FEW, stored(write_statistics=False), "in another way"),
    "an index of pages": (FEW, stored(write_page_index=True), "more than its table"),
    "small row groups": (FEW, stored(row_group_size=13), "uncommon|in another way|group"),
    "a value that no row has": (
        ("anatomized", "permuted", "perturbed"), raw(_longer_dictionary), "more than its table"
    ),
    "a column twice": (
        SOME, raw(lambda t: t.append_column(t.column_names[0], t.column(0))), "2 times"
    ),
    "a column more": (
        EVERY, changed(lambda t: t.append_column("x", pa.array([1] * len(t)))), "'x' is published"
    ),
    "a column less": (FEW, changed(lambda t: t.drop_columns([t.column_names[0]])), "declared but not"),
    "columns in another order": (
        SOME, changed(lambda t: t.select(list(reversed(t.column_names)))), "type|order|way"
    ),
    "numbers of another size": (
        ("ranges",), changed(lambda t: t.set_column(0, "age_min", t["age_min"].cast("int32"))), "type"
    ),
    "a message under another version": (
        FEW, text(lambda b: _of_another_version(_hidden_bytes(b))), "another way|not written|read"
    ),
    "row groups of nothing": (
        ("anatomized", "permuted"),
        in_folder(lambda f: write_parquet(
            [pq.read_table(main_file(f)).slice(0, 0)] * 3 + [pq.read_table(main_file(f))], main_file(f))),
        "uncommon",
    ),
    "numbers as texts": (
        ("ranges",), changed(lambda t: t.set_column(0, "age_min", t["age_min"].cast("string"))),
        "type|read",
    ),
}  # fmt: skip

CSV: dict[str, Tampering] = {
    "a number in quotes": (
        ("anatomized", "perturbed"), line(lambda t: '"' + t.replace(",", '",', 1)), "not written as|type"
    ),
    "a zero before a number": (
        ("ranges", "permuted"), line(lambda t: "0" + t if t[0].isdigit() else "," + t[1:], 9),
        "not written|cannot|rows",
    ),
    "a fraction of nothing": (
        ("ranges",), line(lambda t: t.replace(",", ".0,", 1), 9), "type|not written|read"
    ),
    "a plus before a number": (("anatomized",), line(lambda t: "+" + t, 9), "written|read|type"),
    "a text without quotes": (
        ("permuted",), line(lambda t: t.replace('"', "")), "not written as|read|rows|columns"
    ),
    "lines of another system": (FEW, text(lambda b: b.replace(b"\n", b"\r\n")), "not written as"),
    "no last end of line": (FEW, text(lambda b: b[:-1]), "not written as"),
    "an empty line": (FEW, text(lambda b: b + b"\n"), "rows|written|read|null"),
    "a mark of byte order": (FEW, text(lambda b: b"\xef\xbb\xbf" + b), "not written as|declared"),
    "blanks": (("permuted",), line(lambda t: t.replace(",", ", ", 1)), "written|read|type"),
    "a header without quotes": (FEW, line(lambda t: t.replace('"', ""), 0), "not written as"),
    "a column twice": (
        FEW,
        text(lambda b: b"\n".join(l + b"," + l.split(b",")[0] for l in b.split(b"\n")[:-1]) + b"\n"),
        "2 times|read|columns",
    ),
    "a comment": (FEW, text(lambda b: b"# by Ada\n" + b), "read|declared|columns|written"),
    "an other null": (("ranges",), text(lambda b: b.replace(b"\n,", b"\nNA,")), "type|written|read"),
}  # fmt: skip

CONTENTS: dict[str, Tampering] = {
    "a row less": (EVERY, changed(lambda t: t.slice(1)), "rows are stated"),
    "a row twice": (EVERY, changed(lambda t: pa.concat_tables([t.slice(0, 1), t])), "rows are stated"),
    "rows in another order": (
        (*BOXES, *APART, "refinement", "direct"), changed(_unsorted), "order|together"
    ),
    "a group of one": (("ranges",), changed(cell("age_max", 99)), "1 row with"),
    "one value in a group": (
        ("permuted",), changed(lambda t: t.set_column(
            t.column_names.index("ill"), "ill", pa.array(["flu"] * len(t)))), "group 1"
    ),
    "numbers of groups with gaps": (APART, both_tables(_renumbered), "not numbered 1, 2"),
    "a count of nobody": (("anatomized",), changed(cell("count", 0), "st"), "less than once|more or"),
    "a count more": (("anatomized",), changed(cell("count", 9), "st"), "more or fewer rows"),
    "records in another order": (
        ("anatomized",), changed(lambda t: t.take(pa.array([1, 0, *range(2, len(t))])), "st"), "order"
    ),
    "a record twice": (
        ("anatomized",), changed(lambda t: pa.concat_tables([t.slice(0, 1), t]), "st"), "order|more or"
    ),
    "a group without a row": (
        ("anatomized",), changed(lambda t: t.slice(0, len(t) - 3), "st"), "different groups|more or"
    ),
    "a blank at the end": (
        ("permuted", "ranges", "perturbed"), changed(cell("ill", lambda v: v + " ")), "spelled|lacks"
    ),
    "an unseen letter": (
        ("permuted", "ranges"), changed(cell("ill", lambda v: "\u200b" + v)), "spelled"
    ),
    "a variation of a letter": (
        ("permuted", "ranges"), changed(cell("ill", lambda v: v + "\ufe0f")), "spelled"
    ),
    "a wide letter": (
        ("permuted", "ranges"), changed(cell("ill", lambda v: chr(ord(v[0]) + 0xFEE0) + v[1:])), "alike"
    ),
    "an accent of its own": (
        ("permuted", "ranges"), changed(lambda t: t.set_column(
            t.column_names.index("ill"), "ill",
            pc.replace_substring(t["ill"], "café", "cafe\u0301"))), "spelled"
    ),
    "a number in two spellings": (
        ("permuted", "ranges"), changed(lambda t: cell("ill", "020")(t)), "as numbers"
    ),
    "a zero below zero": (
        APART, changed(lambda t: t.set_column(t.column_names.index("dose"), "dose", pc.if_else(
            pc.equal(t["dose"], 0.0), -0.0, t["dose"]))), "-0.0"
    ),
    "no number": (APART, changed(cell("dose", float("nan"))), "NaN"),
    "no end": (("permuted",), changed(cell("dose", float("inf"))), "infinite"),
    "a range the wrong way round": (("ranges",), changed(group("age_min", 1000)), "before it starts"),
    "half a range": (("ranges",), changed(group("dose_min", None)), "before it starts|row"),
    "a mean elsewhere": (("ranges",), changed(group("dose_mean", 5000.0)), "mean"),
    "perhaps missing": (("ranges",), changed(group("age_missing", None)), "yes and no|row"),
    "a set of nothing": (("sets",), changed(group("job", [])), "empty"),
    "no set": (("sets",), changed(group("job", None)), "empty"),
    "a set in another order": (
        ("sets",), changed(lambda t: t.set_column(
            t.column_names.index("job"), "job",
            pa.array([v[::-1] for v in t["job"].to_pylist()], t["job"].type))), "order"
    ),
    "a value twice in a set": (("sets",), changed(group("job", lambda v: [v[0], *v])), "order"),
    "counts of parts of people": (
        ("anatomized",), in_folder(lambda f: _with_type(f, "st", "count", lambda c: pc.add(c.cast("double"), 0.03))),
        "whole numbers",
    ),
    "group numbers of another type": (
        ("permuted",), in_folder(lambda f: _with_type(f, "permuted", "group_id", lambda c: c.cast("int64"))),
        "whole numbers",
    ),
    "zeros before numbers": (("text",), spelled("age", lambda v: v.replace("[", "[0")), "otherwise|read"),
    "quotes that nobody needs": (
        ("text",), spelled("town", lambda v: v if "[" in v or v.endswith("missing") else f'"{v}"'), "otherwise|lacks"
    ),
    "a set of one": (
        ("text",), spelled("job", lambda v: v if v.startswith("{") else f"{{{v}}}"), "otherwise|read"
    ),
    "a set read backwards": (
        ("text",),
        spelled("job", lambda v: "{" + ", ".join(reversed(v[1:-1].split(", "))) + "}" if v == "{cook, smith}" else v),
        "otherwise|order",
    ),
    "means as texts": (
        ("ranges",),
        in_folder(lambda f: _with_type(f, "generalized", "dose_mean", lambda c: c.cast("string"))), "mean",
    ),
    "a mean at the end of its range": (
        ("ranges",), changed(lambda t: t.set_column(
            t.column_names.index("dose_mean"), "dose_mean", t["dose_max"])), "mean"
    ),
    "a domain in another order": (
        ("perturbed",), changed(lambda t: t.take(pa.array(range(len(t) - 1, -1, -1))), "domain"), "order"
    ),
    "a label that is none": (("labels",), changed(group("town", "west")), "taxonomy lacks"),
    "a suppressed value": (("cells",), changed(lambda t: t.set_column(
        t.column_names.index("job"), "job", pa.array(["cook"] * len(t)))), "shows a value|row"),
    "a text that says nothing": (("text",), changed(group("age", "[20,30")), "read|kind"),
    "a value out of the domain": (("perturbed",), changed(cell("ill", "measles")), "domain lacks"),
    "a domain with a value twice": (
        ("perturbed",), changed(lambda t: pa.concat_tables([t, t.slice(0, 1)]), "domain"), "twice"
    ),
    "a null that marks": (("direct",), changed(cell("age_min", None)), "null"),
    "a line that stands out": (("direct", "refinement"), changed(cell("age_max", 98)), "1 line|fewer rows"),
    "more people than lines": (
        ("refinement",), changed(cell("count", 900), "sensitive_groups"), "more rows than"
    ),
}  # fmt: skip
