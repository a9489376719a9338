"""Statistical databases as tests look into them."""

from sfumato.statdb.layout.bucketization import Bucketization
from sfumato.statdb.layout.layout import Layout
from sfumato.statdb.responder import Responder


def buckets_of(responder: Responder) -> Bucketization:
    """The buckets of a database whose rows are regrouped."""
    assert isinstance(responder.stored, Layout)
    return responder.stored.buckets
