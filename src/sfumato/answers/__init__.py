"""Answers: the mathematics of estimates and bounds that all forms of release share."""
