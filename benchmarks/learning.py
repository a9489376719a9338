"""Adult: how well classifiers trained from releases tell other people's values.

Trained on the 30,162 complete training rows as they are published, judged on the 15,060 test rows.
The measure is the share that is lost of what the same learner gains over always naming the most
frequent value when it is trained on the table: 0 if nothing is lost, 1 if nothing is learnt.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import sfumato as sf
from benchmarks.data import ADULT_QUASI
from benchmarks.measure import Line, seconds

MODELS = ("naive-bayes", "tree")
# what is told, the releases it is told from, and the share that may be lost
CASES = (
    ("income", "Mondrian k=10", sf.Mondrian(), sf.KAnonymity(10), 0.1),
    ("income", "Mondrian k=100", sf.Mondrian(), sf.KAnonymity(100), 0.2),
    ("occupation", "Mondrian k=10", sf.Mondrian(), sf.KAnonymity(10), 0.1),
    ("occupation", "Mondrian l=4", sf.Mondrian(), sf.LDiversity(4), 0.5),
    ("occupation", "Anatomize l=4", sf.Anatomize(), sf.LDiversity(4), 0.5),
    ("occupation", "Frontier l=4", sf.Frontier(), sf.LDiversity(4), 0.5),
)


def run(folder: Path | None) -> Iterator[Line]:
    """Every release with every learner, and the time of the largest."""
    path = folder / "adult.parquet" if folder else None
    if path is None or not path.is_file():
        return
    table = pq.read_table(path).drop_null()
    training = pc.equal(table["split"].cast(pa.string()), "train")
    for target, name, algorithm, model, most in CASES:
        known, others = (_people(table.filter(some), target)
                         for some in (training, pc.invert(training)))  # fmt: skip
        release = sf.publish(known, algorithm, model, seed="0123456789abcdef" * 4)
        usual = _usual(known, others, target)
        for learner in MODELS:
            ideal = sf.train(known, target=target, model=learner).accuracy(others)  # type: ignore[arg-type]
            told = sf.train(release, target=target, model=learner).accuracy(others)  # type: ignore[arg-type]
            best = max(ideal, usual)
            detail = f"{told:.1%} right; from the table {ideal:.1%}, the usual value {usual:.1%}"
            lost = (best - told) / (best - usual) if best > usual else np.nan
            yield Line(f"{learner}: {target} from {name}", lost, most, "", detail)
    took = seconds(lambda: sf.train(release, target="occupation"))
    yield Line("a tree from Frontier l=4", took, 5.0, "s")


def _people(table: pa.Table, target: str) -> sf.Microdata:
    quasi = [name for name in ADULT_QUASI if name != target]
    return sf.Microdata.from_arrow(
        table.select([*quasi, target]), sf.Schema(quasi=quasi, sensitive=target)
    )


def _usual(known: sf.Microdata, others: sf.Microdata, target: str) -> float:
    counts = np.bincount(known.codes[target])
    usual = known.attributes[target].values[int(counts.argmax())]
    return float(
        pc.mean(pc.equal(others.attributes[target].decode(others.codes[target]), usual)).as_py()
    )
