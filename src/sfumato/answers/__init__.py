"""Answers: what a release, or the table itself, says to a question."""
