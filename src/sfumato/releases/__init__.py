"""Releases: what the public sees of a partition, in memory and on disk."""
