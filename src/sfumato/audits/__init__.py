"""Audits: does a release keep its word, and what does a table risk before it is released?"""
