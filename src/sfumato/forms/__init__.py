"""Forms: what the public sees of a partition, in memory and on disk; a folder per form."""
