"""The bundled table of patients."""

import subprocess
import sys
from pathlib import Path

import pyarrow.compute as pc

from sfumato.engines.reading import read
from sfumato.io.schema_files import read_schema
from sfumato.io.tables import read_table
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[3]
DATA = ROOT / "src" / "sfumato" / "data"


def test_the_generator_makes_the_bundled_file(tmp_path: Path) -> None:
    script = ROOT / "tools" / "make_patients.py"
    made = tmp_path / "patients.csv"
    subprocess.run([sys.executable, script, "-o", made], check=True, timeout=PATIENCE)
    assert made.read_bytes() == (DATA / "patients.csv").read_bytes()
    subprocess.run(
        [sys.executable, script, "--seed", "1", "-o", made], check=True, timeout=PATIENCE
    )
    assert made.read_bytes() != (DATA / "patients.csv").read_bytes()


def test_the_bundled_schema_fits() -> None:
    table = read(DATA / "patients.csv", read_schema(DATA / "patients.toml"))
    assert len(table) == 1000
    assert not any(attribute.has_missing for attribute in table.attributes.values())
    assert table.attributes["education"].ordered
    # every leaf of the taxonomy is somebody's job
    assert len(set(table.codes["job"])) == table.attributes["job"].size


def test_the_table_is_plausible() -> None:
    table = read_table(DATA / "patients.csv")
    assert len(table["name"].unique()) == len(table)
    assert any(code.startswith("0") for code in table["zipcode"].to_pylist())
    assert pc.max(pc.value_counts(table["disease"]).field("counts")).as_py() < 250
    prostate = table.filter(pc.equal(table["disease"], "prostate cancer"))
    assert prostate["sex"].unique().to_pylist() == ["M"]
    asthma = table.filter(pc.equal(table["disease"], "asthma"))
    arthritis = table.filter(pc.equal(table["disease"], "arthritis"))
    assert pc.mean(asthma["age"]).as_py() + 10 < pc.mean(arthritis["age"]).as_py()
