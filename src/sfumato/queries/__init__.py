"""Questions about a table: their text, their meaning, and workloads of them."""
