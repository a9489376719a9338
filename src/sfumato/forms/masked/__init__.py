"""The masked form: rows whose values were replaced in a stated way."""
