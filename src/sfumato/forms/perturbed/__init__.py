"""The perturbed form: exact rows whose sensitive values are replaced by chance."""
