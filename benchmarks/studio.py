"""The desk in a real browser: how soon a change of a role is answered, by the page's own log."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.data import CENSUS_QUASI, census
from benchmarks.measure import PATIENCE, Line

ROWS = 200_000
_SECONDS = 1.0
_ROUNDS = 4  # of every column out, and in again
_ROLE, _SETS = "role", "combinations"


def run(data: Path | None) -> Iterator[Line]:
    """Columns leave the quasi-identifiers and come back, one at a time."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("studio: no chromium, so nothing is measured", file=sys.stderr)
        return
    rows, source = census(data, ROWS)
    with TemporaryDirectory() as folder:
        pq.write_table(rows, Path(folder) / "people.parquet")
        with _desk(Path(folder)) as address:
            taken = _log(chromium, address)
    detail = f"{source}, {len(CENSUS_QUASI)} quasi-identifiers, {len(taken[_ROLE])} changes"
    for kind, what in ((_ROLE, "figures, column"), (_SETS, "combinations, asked for after that")):
        yield Line(
            f"a change of a role on {ROWS:,} rows, {what}: p95 until it is painted",
            float(np.percentile(taken[kind], 95)) / 1000, _SECONDS, "s",
            detail=f"{detail}, median {np.median(taken[kind]):.0f} ms",
        )  # fmt: skip


@contextmanager
def _desk(folder: Path) -> Iterator[str]:
    """A desk in a process of its own, as its owner starts it."""
    words = ["studio", "people.parquet", "--no-browser", "--port", "0", "--address-file", "address"]
    with subprocess.Popen(
        [sys.executable, "-m", "sfumato", *words], cwd=folder, stdout=subprocess.DEVNULL
    ) as desk:
        try:
            until = time.monotonic() + PATIENCE
            while not (folder / "address").exists():
                assert desk.poll() is None, "the desk did not start"
                assert time.monotonic() < until, "the desk did not start in time"
                time.sleep(0.05)
            yield (folder / "address").read_text("utf-8").strip()
        finally:
            desk.terminate()
            desk.wait(PATIENCE)


def _log(chromium: str, address: str) -> dict[str, list[float]]:
    """What the page says that it took, by kind; the start, with its compiler, left out."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.goto(address)
        _settled(page)
        page.get_by_label("Role of occupation").select_option("sensitive")
        _settled(page)
        start = {kind: len(_entries(page, kind)) for kind in (_ROLE, _SETS)}
        for role in ("insensitive", "quasi") * _ROUNDS:
            for name in CENSUS_QUASI[:-1]:  # one stays: without any there is nobody to find
                page.get_by_label(f"Role of {name}").select_option(role)
                _settled(page)
        found = {kind: _entries(page, kind)[start[kind] :] for kind in (_ROLE, _SETS)}
        browser.close()
    return found


def _settled(page: Any) -> None:
    page.wait_for_selector("#risk:not([aria-busy]) .combinations li")


def _entries(page: Any, kind: str) -> list[float]:
    found: list[float] = page.eval_on_selector_all(
        f"#log li[data-kind={kind}]", "(all) => all.map((one) => Number(one.dataset.ms))"
    )
    return found
