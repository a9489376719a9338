"""The statistical database: answers to counting questions from versions made for each."""

from sfumato.statdb.engine import Engine

__all__ = ["Engine"]
