"""What a release lost: numbers to compare partitions and methods with."""
