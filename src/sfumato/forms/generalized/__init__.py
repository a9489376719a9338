"""The generalized form: every row shows the box of its group."""
