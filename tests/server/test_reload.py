"""Rows change under a server that answers all the while."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa

import sfumato as sf
from tests.server.conftest import people
from tests.server.kit import COUNT, FLU, Kit, copied, require_error, running
from tests.support.waiting import PATIENCE, eventually


def change(folder: Path, start: int, ledger: str | None = None) -> None:
    """Delete ten rows, in the manner of sfumato statdb apply."""
    database = sf.StatDB.open(folder)
    schema = database.responder.schema
    gone: pa.Table = people().slice(start, 10)
    database.apply(deleted=sf.Microdata.from_arrow(gone, schema), ledger=ledger)


def test_a_change_is_served_without_dropping_requests(
    folder_of_people: Path, tmp_path: Path
) -> None:
    folder = copied(folder_of_people, tmp_path)
    seen: list[tuple[int, int]] = []
    stop = threading.Event()
    with running(folder) as kit:

        def ask() -> None:
            while not stop.is_set():
                told: dict[str, Any] = kit.answer(COUNT)
                answer = told["rows"][0]["answers"]["count"]
                assert answer["lo"] == answer["hi"]
                seen.append((told["generation"], answer["lo"]))

        clients = [threading.Thread(target=ask, daemon=True) for _ in range(3)]
        for one in clients:
            one.start()
        try:
            eventually(lambda: seen, "a first answer")
            for turn in range(3):
                change(folder, 10 * turn)
                eventually(lambda: seen[-1][0] == turn + 2, "the change")  # noqa: B023
        finally:
            stop.set()
        for one in clients:
            one.join(PATIENCE)
            assert not one.is_alive()
        assert kit.http.get("/ready").status_code == 200
        assert set(seen) <= {(1, 600), (2, 590), (3, 580), (4, 570)}
        assert {1, 4} <= {generation for generation, _ in seen}
        assert kit.http.get("/v1/schema").json()["rows"] == 570
        assert (
            'sfumato_reloads_total{database="people",outcome="done"}'
            in kit.http.get("/metrics").text
        )
        logged = [(one.entry.generation, one.entry.answer) for one in kit.records()]
    assert len(logged) == len(seen)
    assert len(set(logged)) == len(set(seen))


def test_a_damaged_folder_is_told_and_the_old_state_stays(
    folder_of_people: Path, tmp_path: Path
) -> None:
    folder = copied(folder_of_people, tmp_path)
    with running(folder) as kit:
        known = kit.answer(FLU)["rows"]
        header = (folder / "statdb.json").read_bytes()
        (folder / "statdb.json").write_bytes(b"{}")
        eventually(lambda: kit.http.get("/ready").status_code != 200)
        require_error(kit.http.get("/ready"), 503, "not_ready")
        assert kit.answer(FLU)["rows"] == known
        kit.app.service.databases["people"]._next_try = 0.0
        (folder / "statdb.json").write_bytes(header)
        eventually(lambda: kit.http.get("/ready").status_code == 200)
        assert kit.http.get("/ready").status_code == 200
        assert any(line["event"] == "reload" for line in kit.logged())


def test_rows_that_are_held_back_leave_no_trace(folder_of_people: Path, tmp_path: Path) -> None:
    folder = copied(folder_of_people, tmp_path)
    with running(folder) as kit:
        served = kit.app.service.databases["people"]
        kit.answer(FLU)
        before, stamp = _public(kit), served.state.stamp
        database = sf.StatDB.open(folder)
        one = sf.Microdata.from_arrow(people().slice(0, 1), database.responder.schema)
        assert database.apply(inserted=one).waiting == 1
        assert not served.changed()
        assert served.state.stamp != stamp  # it has looked
        assert _public(kit) == before
        assert kit.answer(FLU)["generation"] == 1
        assert not [line for line in kit.logged() if line["event"] == "reload"]
        # the control: what is answered otherwise is seen
        database.apply(deleted=sf.Microdata.from_arrow(people().slice(5, 1), one.schema))
        eventually(lambda: served.state.generation > 1)
        assert _public(kit) != before


def _public(kit: Kit) -> list[Any]:
    """What anybody may ask about a database, without what counts requests."""
    metrics = [
        line
        for line in kit.http.get("/metrics").text.splitlines()
        if any(word in line for word in ("generation", "reloads", "cached", "ready"))
    ]
    return [kit.http.get("/v1/databases").json(), kit.http.get("/v1/schema").json(), metrics]
