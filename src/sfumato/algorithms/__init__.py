"""Algorithms: a table and a privacy model in, a partition out."""
