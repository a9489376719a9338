"""The joined form: two tables joined in boxes (JAT), and the sensitive values beside them (SI)."""
