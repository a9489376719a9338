"""Learning from expected counts: which values go with which quasi-identifiers.

What is learnt from are lines (``answers.lines``), whose people lie in bins, and have values, with
known chances only. A learner is a function from lines to a model; a model says the chance of each
value for people given by the bins that they are in.
"""
