"""Who may ask a database, and the ledger of what was asked."""
