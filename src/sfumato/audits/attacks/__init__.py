"""The attackers that releases are judged by: how often somebody who thinks guesses right.

``breach`` says what follows from a release if all ways to hand out the values of a group are
equally likely. They seldom are, and these attackers use it: the ``outside`` learner has studied
other people of the same population, ``definetti`` studies the release itself, by ``naive_bayes`` or
``logistic`` regression, and ``equality`` first finds out by questions who shares a value with whom;
``linkage`` looks at the nearest lines, ``positions`` at how files are written, ``minimality`` at
cuts that were not made, ``composition`` at a second release, and ``reconstruction`` at many answers
at once. All of them see ``Candidates``, which are made of published columns and of everybody's
quasi-identifiers, and never the truth; what they guess is compared with it in ``results``.
``noise`` reads through perturbation, and ``seeds`` looks for the seed of a release. docs/attacks.md
says it in plain words.
"""
