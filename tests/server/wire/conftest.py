"""One server for the tests that only ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.kit import copied
from tests.server.wire.kit import Served, serving


@pytest.fixture(scope="module")
def served(
    folder_of_people: Path, folder_of_wages: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("served")
    with serving(
        copied(folder_of_people, place), copied(folder_of_wages, place, "wages")
    ) as running:
        yield running
