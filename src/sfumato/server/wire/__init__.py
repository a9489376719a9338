"""The PostgreSQL protocol, version 3: any SQL tool may ask."""
