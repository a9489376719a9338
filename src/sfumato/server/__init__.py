"""HTTP over statistical databases: an API, a page, a ledger. No privacy logic lives here."""
