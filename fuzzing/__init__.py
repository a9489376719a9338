"""Fuzzing: random tables, lives of databases, damages and faults, each judged by brute force.

    python -m fuzzing                       a thousand cases of every kind
    python -m fuzzing releases --count 100000 --seed 7 --minutes 60

A case is plain data, drawn by Hypothesis and written as JSON. What fails is shrunk and can be
kept in fuzzing/corpus, which ``make test`` replays.
"""
