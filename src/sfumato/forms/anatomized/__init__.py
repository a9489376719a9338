"""The anatomized form: a QIT of exact rows, and an ST of counted values per sensitive attribute."""
