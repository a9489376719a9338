"""The addresses of the server: what each takes and gives."""
