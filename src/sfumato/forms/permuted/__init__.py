"""The permuted form: exact rows whose sensitive values are shuffled inside their groups."""
