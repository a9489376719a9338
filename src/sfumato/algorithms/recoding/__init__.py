"""Global and local recoding: values become classes, in the whole table or group by group."""
