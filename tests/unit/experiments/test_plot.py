import struct
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sfumato.errors import MissingExtra
from sfumato_experiments.figure import Box, Drawing, Figure, Point, Scale
from sfumato_experiments.plot import draw

FIGURE = Figure(
    number="1",
    title="A line",
    x_label="k",
    y_label="C_DM",
    series={"a": (Point(1, 10.0, 2.0), Point(10, 99.0, 3.0)), "floor": (Point(1, 5), Point(10, 9))},
    references=frozenset({"floor"}),
    x_scale="log",
    y_scale="log",
)


def test_the_plot_is_a_png_of_readable_size(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw(FIGURE, tmp_path / "f.png")
    written = (tmp_path / "f.png").read_bytes()
    assert written.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", written[16:24])
    assert width > 600
    assert height > 400
    assert len(written) < 100_000


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["log", "linear"])
def test_panels_share_one_sheet(tmp_path: Path, scale: Scale) -> None:
    pytest.importorskip("matplotlib")
    panels = {f"panel {i}": {"ours": "a", "least": "floor"} for i in range(5)}
    draw(replace(FIGURE, panels=panels, y_scale=scale), tmp_path / "f.png")
    written = (tmp_path / "f.png").read_bytes()
    width, height = struct.unpack(">II", written[16:24])
    assert width > 600
    assert height > width
    assert len(written) < 100_000


def test_drawings_stand_side_by_side(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawing = Drawing([(0, 0), (0, 0), (3, 1)], [Box(0, 1, 0, 0), Box(2, 3, 0, 2)])
    assert [box.area for box in drawing.boxes] == [2, 6]
    draw(replace(FIGURE, drawings={f"k = {k}": drawing for k in (1, 2)}), tmp_path / "f.png")
    width, height = struct.unpack(">II", (tmp_path / "f.png").read_bytes()[16:24])
    assert width > 1.5 * height


def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[plot\]"):
        draw(FIGURE, tmp_path / "f.png")
    assert not (tmp_path / "f.png").exists()
