"""k-join-anonymity: partitions of microdata together with an external table."""
