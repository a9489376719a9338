"""Asking: questions to a release of any form, or to the table itself, and their answers judged."""
