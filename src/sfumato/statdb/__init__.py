"""The statistical database: answers to counting questions from versions made for each."""

from sfumato.statdb.responder import Responder

__all__ = ["Responder"]
