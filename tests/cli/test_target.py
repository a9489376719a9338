"""--target: cuts that tell most about a sensitive column."""

import json
from pathlib import Path

from tests.support.commands import sfumato

HERE = Path(__file__).parent
ROWS = [(20 + i * 7 % 40, i * 11 % 50, "xy"[20 + i * 7 % 40 > 33]) for i in range(200)]
TABLE = "age,size,disease\n" + "".join(f"{age},{size},{ill}\n" for age, size, ill in ROWS)


def test_a_target_guides_the_cuts_of_mondrian_in_memory(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "s.toml").write_text('quasi = ["age", "size"]\nsensitive = ["disease"]\n')
    files = [str(tmp_path / "t.csv"), "-s", str(tmp_path / "s.toml"), "-o", str(tmp_path / "out")]
    asked = ["--target", "disease", "--k", "50", "--no-audit"]
    made = sfumato(HERE, "publish", *files, *asked)
    assert made.returncode == 0, made.stderr
    assert json.loads((tmp_path / "out" / "release.json").read_text())["algorithm"]["target"] == 1
    assert sfumato(HERE, "verify", str(tmp_path / "out")).returncode == 0
    for more, said in (
        (["--method", "topdown"], "it is for mondrian"),
        (["--engine", "stream"], "in-memory engine"),
        (["--target", "age"], "no sensitive column 'age'"),
    ):
        refused = sfumato(HERE, "publish", *files, *asked, *more, "--force")
        assert refused.returncode == 2, refused.stderr
        assert said in " ".join(refused.stderr.split())
