"""An evaluation as one HTML page that opens anywhere: no script, no outside host.

page puts the page together from its sections (promise, cost, distributions, answers); charts draws,
on svg; text makes every value from the data harmless; writing puts the file in place.
"""
