"""Anatomize on a table that does not fit into memory: see divide."""
