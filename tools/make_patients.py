"""Make the bundled table of patients. Nobody in it exists.

    python tools/make_patients.py                      # rewrites src/sfumato/data/patients.csv
    python tools/make_patients.py --seed 2 -o other.csv

Only ``random()`` and whole numbers are used: both give the same on every Python and machine.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

BUNDLED = Path(__file__).parents[1] / "src" / "sfumato" / "data" / "patients.csv"
ROWS = 1000
SEED = 2006

COLUMNS = ("name", "age", "sex", "zipcode", "education", "job", "disease")
FIRST = {
    "F": "Ada Bella Clara Dora Edith Flora Greta Hanna Ines Julia Kira Lena Mara Nora Olga Paula "
    "Rita Sara Tessa Ursula Vera Wilma Yara Zoe",
    "M": "Adam Boris Carlo David Emil Felix Georg Hugo Ivan Jonas Karl Leo Marco Nils Oscar Paul "
    "Ralf Simon Theo Ulrich Victor Walter Yusuf Zeno",
}
LAST_START = "Ash Brook Cross Dell East Fern Glen Hart Iron Kings Lake Marsh North Oak Stone"
LAST_END = "bury by field ford ham land ley man more ridge ton well wick wood worth"

# Relative weights of the age bands that start at each age and are ten years wide.
AGES = {10: 6, 20: 17, 30: 19, 40: 18, 50: 16, 60: 13, 70: 8, 80: 3}
# Two towns in the north, where zip codes start with 0, and two in the south.
TOWNS = {"0213": 30, "0217": 25, "1052": 25, "1060": 20}
EDUCATION = {"none": 4, "primary": 14, "secondary": 36, "vocational": 24, "university": 22}
UNDER_23 = {"primary": 25, "secondary": 50, "vocational": 25}
JOBS = {
    "none": {"cook": 20, "driver": 30, "farmer": 30, "salesperson": 20},
    "primary": {"cook": 25, "driver": 30, "farmer": 20, "salesperson": 25},
    "secondary": {
        "cook": 15,
        "driver": 20,
        "clerk": 25,
        "salesperson": 25,
        "dancer": 7,
        "nurse": 8,
    },
    "vocational": {"electrician": 35, "nurse": 30, "clerk": 20, "cook": 10, "dancer": 5},
    "university": {"engineer": 25, "lawyer": 17, "physician": 18, "teacher": 30, "writer": 10},
}
# Weights of a disease for the young (under 35), the middle-aged and the old (60 and more).
DISEASES = {
    "flu": (16, 12, 10),
    "asthma": (15, 8, 5),
    "migraine": (13, 10, 3),
    "depression": (13, 11, 6),
    "gastritis": (11, 11, 8),
    "bronchitis": (9, 9, 9),
    "pneumonia": (6, 7, 13),
    "diabetes": (4, 10, 13),
    "hypertension": (3, 12, 17),
    "arthritis": (2, 8, 16),
    "breast cancer": (1, 5, 6),
    "prostate cancer": (0, 3, 9),
}
# How much likelier than for others, in percent.
BY_SEX = {
    ("migraine", "F"): 180,
    ("depression", "F"): 140,
    ("arthritis", "F"): 130,
    ("breast cancer", "M"): 3,
    ("prostate cancer", "F"): 0,
}


def patients(rows: int, seed: int) -> Iterator[tuple[str | int, ...]]:
    """Rows of synthetic persons with distinct names."""
    source = random.Random(seed)
    names: set[str] = set()
    for _ in range(rows):
        sex = pick(source, {"F": 52, "M": 48})
        age = int(pick(source, AGES)) + below(source, 10)
        zipcode = f"{pick(source, TOWNS)}{below(source, 10)}"
        education = pick(source, EDUCATION if age >= 23 else UNDER_23)
        job = "pupil" if age < 18 else pick(source, JOBS[education])
        yield (
            new_name(source, sex, names),
            age,
            sex,
            zipcode,
            education,
            job,
            disease(source, age, sex),
        )


def disease(source: random.Random, age: int, sex: str) -> str:
    """A disease that is plausible at this age and for this sex."""
    stage = 0 if age < 35 else 1 if age < 60 else 2
    return pick(
        source,
        {name: weights[stage] * BY_SEX.get((name, sex), 100) for name, weights in DISEASES.items()},
    )


def new_name(source: random.Random, sex: str, taken: set[str]) -> str:
    """A name that nobody in the table has yet."""
    while True:
        first, start, end = (any_of(source, part) for part in (FIRST[sex], LAST_START, LAST_END))
        name = f"{first} {start}{end}"
        if name not in taken:
            taken.add(name)
            return name


def pick(source: random.Random, weights: Mapping[str, int] | Mapping[int, int]) -> str:
    """A key, with a probability in proportion to its weight."""
    point = below(source, sum(weights.values()))
    for key, weight in weights.items():
        point -= weight
        if point < 0:
            return str(key)
    raise AssertionError("the weights add up to more than the point")


def any_of(source: random.Random, words: str) -> str:
    """One of the words, each as likely as the others."""
    listed = words.split()
    return listed[below(source, len(listed))]


def below(source: random.Random, limit: int) -> int:
    """A whole number from 0 to limit - 1."""
    return int(source.random() * limit)


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description="Make a table of synthetic patients.")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("-o", "--output", type=Path, default=BUNDLED)
    options = parser.parse_args()
    with options.output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(patients(options.rows, options.seed))


if __name__ == "__main__":
    main()
