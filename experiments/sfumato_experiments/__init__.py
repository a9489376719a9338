"""The experiments of the papers: one folder per paper, one file per figure.

They use sfumato as anybody would, by its public names. ``sfumato reproduce`` runs them.
"""
