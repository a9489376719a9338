"""The desk: a table is opened, judged, explored and published in the browser of its owner.

Everything here is put together from other rooms: risk, usefulness and releases are computed there.
"""
