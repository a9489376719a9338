"""What a database is: signatures, buckets, and the rows at their places."""
