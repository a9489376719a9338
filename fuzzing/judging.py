"""What a case can come to: an outcome in a word, or a finding."""

from __future__ import annotations


class Finding(Exception):
    """Something that must not be: a wrong answer, a broken promise, a foreign error."""
