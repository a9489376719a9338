"""The site of docs/: pages from elsewhere, the reference, examples, the notebook."""
