"""Questions about a table, and answers from what is published of it."""
