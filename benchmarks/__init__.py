"""Ratios against a peer or a physical limit, measured in the same run.

Seconds mean little on a noisy machine; every row compares two things that ran in turns.
"""
