"""The tables printed in the Mondrian report, as releases."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.boxes import Ranges
from sfumato.core.randomness import Randomness
from sfumato.forms.generalized.release import boxes_of
from sfumato.models.requirements import requirements

PATIENTS = pa.table(
    {
        "Age": [25, 25, 26, 27, 27, 28],
        "Sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
        "Zipcode": [53711, 53712, 53711, 53710, 53712, 53711],
        "Disease": ["Flu", "Hepatitis", "Brochitis", "Broken Arm", "AIDS", "Hang Nail"],
    }
)
# The first cut of Figure 4(c) is on Zipcode: of three equally wide columns, the first named wins.
SCHEMA = sf.Schema(quasi=["Zipcode", "Age", "Sex"], sensitive="Disease")

FIGURE_3 = {
    "Flu": ("[25, 26]", "Male", "53711"),
    "Hepatitis": ("[25, 27]", "Female", "53712"),
    "Brochitis": ("[25, 26]", "Male", "53711"),
    "Broken Arm": ("[27, 28]", "Male", "[53710, 53711]"),
    "AIDS": ("[25, 27]", "Female", "53712"),
    "Hang Nail": ("[27, 28]", "Male", "[53710, 53711]"),
}
FIGURE_8_MEANS = {
    "Flu": 25.5,
    "Hepatitis": 26,
    "Brochitis": 25.5,
    "Broken Arm": 27.5,
    "AIDS": 26,
    "Hang Nail": 27.5,
}


def rows_by_disease(release: sf.GeneralizedTable) -> dict[str, dict[str, Any]]:
    return {row["Disease"]: row for row in release.table.to_pylist()}


def patients() -> sf.Microdata:
    return sf.Microdata.from_arrow(PATIENTS, SCHEMA)


def test_figure_3_the_multidimensional_anonymization() -> None:
    release = sf.publish(patients(), sf.Mondrian(), sf.KAnonymity(2), labels="text")
    published = {
        disease: (row["Age"], row["Sex"], row["Zipcode"])
        for disease, row in rows_by_disease(release).items()
    }
    assert published == FIGURE_3


def test_figure_3_as_bounds() -> None:
    release = sf.publish(patients(), sf.Mondrian(), sf.KAnonymity(2))
    flu = rows_by_disease(release)["Flu"]
    assert flu == {
        "Zipcode_min": 53711,
        "Zipcode_max": 53711,
        "Age_min": 25,
        "Age_max": 26,
        "Sex": ["Male"],
        "Disease": "Flu",
    }


def test_figure_8_adds_the_means() -> None:
    release = sf.publish(patients(), sf.Mondrian(), sf.KAnonymity(2), labels="text", means=["Age"])
    means = {disease: row["Age_mean"] for disease, row in rows_by_disease(release).items()}
    assert means == FIGURE_8_MEANS


def test_figure_6_relaxed_on_zipcode_alone() -> None:
    table = sf.Microdata.from_arrow(PATIENTS, sf.Schema(quasi=["Zipcode"], sensitive="Disease"))
    release = sf.publish(table, sf.Mondrian(relaxed=True), sf.KAnonymity(3), labels="text")
    cells = Counter(row["Zipcode"] for row in release.table.to_pylist())
    assert cells == {"[53710, 53711]": 3, "[53711, 53712]": 3}


def test_figure_6_strict_would_recode_to_the_whole_range() -> None:
    table = sf.Microdata.from_arrow(PATIENTS, sf.Schema(quasi=["Zipcode"], sensitive="Disease"))
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(3), labels="text")
    assert {row["Zipcode"] for row in release.table.to_pylist()} == {"[53710, 53712]"}


def test_figure_2_costs_more_than_figure_3() -> None:
    # Figure 2: men on [53710-53711], women on 53712, Age [25-28] for all of them
    single = sf.Partition.of(
        PATIENTS["Sex"].combine_chunks().dictionary_encode().indices.to_numpy()
    )
    table = patients()
    needs = requirements(sf.KAnonymity(2), SCHEMA)
    multi = sf.Mondrian().partition(table, needs, Randomness(0))
    assert sf.discernibility(single) == 4**2 + 2**2
    assert sf.discernibility(multi) == 3 * 2**2
    assert sf.average_group_size(multi, 2) == pytest.approx(1.0)
    loss = {
        name: sf.ncp(boxes_of(table, partition, "ranges"), partition.sizes)
        for name, partition in (("single", single), ("multi", multi))
    }
    assert loss["multi"] < loss["single"]


def test_figure_2_boxes() -> None:
    single = sf.Partition.of(
        PATIENTS["Sex"].combine_chunks().dictionary_encode().indices.to_numpy()
    )
    zipcode, age, sex = boxes_of(patients(), single, "ranges")
    assert isinstance(zipcode, Ranges)
    assert isinstance(age, Ranges)
    assert zipcode.attribute.decode(zipcode.low).to_pylist() == [53710, 53712]
    assert zipcode.attribute.decode(zipcode.high).to_pylist() == [53711, 53712]
    assert age.attribute.decode(age.low).to_pylist() == [25, 25]
    assert list(sex.n_values()) == [1, 1]
