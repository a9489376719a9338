"""From a question to the bytes of its answer, which are made once and remembered."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sfumato.core.answer import Answer, Result, plain
from sfumato.core.query import COUNT
from sfumato.server.databases import State
from sfumato.server.http import JSON, to_json
from sfumato.server.questions import Asked, Question, Rowless, Timed, understood
from sfumato.server.sentences import in_words, sentence
from sfumato.statdb.access.ledger_records import LONGEST_ANSWER, clean, reference_to
from sfumato.statdb.count import asking

Form: TypeAlias = Literal["json", "csv", "arrow"]
MEDIA: Mapping[Form, str] = {
    "json": JSON,
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
}
_OVERHEAD = 2_000  # bytes of an answer besides its texts, roughly


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """An answer, and its texts: ``content`` for the client, ``recorded`` for the ledger.

    A long text is ``kept`` beside the ledger's records, which refer to it.
    """

    question: Question
    result: Result
    content: bytes
    recorded: str
    kept: str | None
    words: str
    metadata: Mapping[str, str]
    tables: dict[Form, bytes] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        return 4 * len(self.content) + _OVERHEAD

    def table(self, form: Form) -> bytes:
        """The answer as CSV or Arrow."""
        if form not in self.tables:
            self.tables[form] = _csv(self.result, self.words) if form == "csv" else self._arrow()
        return self.tables[form]

    def _arrow(self) -> bytes:
        # what the columns do not show stands beside them, the client reads it there
        marks = [[one.nullable for one in line] for line in self.result.answers]
        told = {**self.metadata, "nullable": json.dumps(marks)}
        table = self.result.table.replace_schema_metadata(told)
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return sink.getvalue()


def remembered(state: State, asked: Asked) -> tuple[Answered, Sequence[str]] | None:
    """The answer to a question that was asked before in the same words, and notes on these."""
    found = state.texts.get(asked)
    if found is None:
        return None
    key, notes = found
    answered = state.answers.get(key)
    return None if answered is None else (answered, notes)


def read(state: State, asked: Asked, most_groups: int) -> Question:
    """The canonical form of a question."""
    return understood(state.responder, asked, most_groups)


def answer(state: State, question: Question, until: float) -> Answered:
    """Ask the responder; called in a thread of the pool."""
    result = asking.answer(Timed(state.responder, until), question.query)
    rows = to_json(_rows(result))
    stated: dict[str, Any] = {
        "canonical": question.sql,
        "in_words": (words := in_words(question.query, state.words)),
        "by": result.by,
        "aggregates": result.names,
    }
    if question.query.select == (COUNT,) and not result.by:
        stated["sentence"] = sentence(result.answer, question.query, state.rows, state.words)
    content = to_json(stated)[1:-1] + b',"rows":' + rows
    metadata = {
        name: str(value) for name, value in {**state.facts, "canonical": question.sql}.items()
    }
    return Answered(question, result, content, *_recorded(rows.decode()), words, metadata)


def _recorded(rows: str) -> tuple[str, str | None]:
    """What a record says, and what is kept beside it: made once, however often it is asked."""
    text = clean(rows)
    return (text, None) if len(text) <= LONGEST_ANSWER else (reference_to(text), text)


def remember(state: State, asked: Asked, answered: Answered, notes: Sequence[str]) -> None:
    """Keep an answer, by its meaning and by its words."""
    key = answered.question.key
    state.answers.put(key, answered, answered.size)
    if len(asked.text) < 4_096:
        state.texts.put(asked, (key, notes), len(asked.text) + 500)


def explain(state: State, asked: Asked, most_groups: int) -> dict[str, Any]:
    """What would be answered, or a refusal; no row is read."""
    question = read(state, asked, most_groups)
    result = asking.answer(Rowless(state.responder), question.query)
    return {
        "answerable": True,
        "canonical": question.sql,
        "by": result.by,
        "aggregates": result.names,
        "groups": len(result),
        "uses": question.uses,
    }


def _rows(result: Result) -> list[dict[str, Any]]:
    return [
        {
            "key": {name: plain(value) for name, value in zip(result.by, key, strict=True)},
            "answers": {
                name: _answer(one) for name, one in zip(result.names, answers, strict=True)
            },
        }
        for key, answers in zip(result.keys, result.answers, strict=True)
    ]


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "lo": plain(answer.lo),
        "hi": plain(answer.hi),
        "estimate": plain(answer.estimate),
        "width": plain(answer.width),
        "nullable": answer.nullable,
    }


def _csv(result: Result, words: str) -> bytes:
    """The table, and in its last column what was asked: a file is all that many people see."""
    table = result.table.append_column("question", pa.array([words] * len(result), pa.string()))
    columns = [_plain_cells(column) for column in table.columns]
    names = _plain_cells(pa.chunked_array([table.column_names], pa.string())).to_pylist()
    sink = io.BytesIO()
    pyarrow.csv.write_csv(pa.table(columns, names=names), sink)
    return sink.getvalue()


def _plain_cells(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts with an apostrophe before what a spreadsheet would compute."""
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return column
    computed = pc.match_substring_regex(column, r"^[=+\-@\t\r]")
    return pc.if_else(computed, pc.binary_join_element_wise("'", column, ""), column)
