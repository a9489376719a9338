"""Tables, schemas and release folders in and out: files, Arrow, data frames, databases."""
