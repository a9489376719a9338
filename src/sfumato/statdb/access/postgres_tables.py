"""The tables of ledgers in PostgreSQL, made where they are missing.

Guards against mistakes, not against the owner of the tables, who can remove them.
"""

from __future__ import annotations

from sfumato.statdb.access.postgres import Connection

_LOCK = 8_236_017_455  # of whoever makes tables; any number that others do not use


def made_if_missing(connection: Connection) -> None:
    """Make them; whoever may not can use those that somebody else has made."""
    found = connection.execute("SELECT to_regclass('sfumato.token')").fetchone()
    if found is not None and found[0] is not None:
        return
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    for statement in _SCRIPT.split(";\n\n"):
        connection.execute(statement.encode())


_SCRIPT = """
CREATE SCHEMA IF NOT EXISTS sfumato;

CREATE TABLE IF NOT EXISTS sfumato.ledger (
    database text PRIMARY KEY, format text NOT NULL, version integer NOT NULL, name text NOT NULL,
    number bigint NOT NULL DEFAULT 0, digest text NOT NULL, time text NOT NULL DEFAULT '',
    generation bigint, tokens bigint NOT NULL DEFAULT 0
);

CREATE TABLE IF NOT EXISTS sfumato.record (
    database text NOT NULL REFERENCES sfumato.ledger, number bigint NOT NULL,
    "time" text NOT NULL, request_id text NOT NULL, who text NOT NULL, role text NOT NULL,
    kind text NOT NULL, question text NOT NULL, canonical text, answer text,
    generation bigint NOT NULL, previous text NOT NULL, digest text NOT NULL,
    PRIMARY KEY (database, number)
);

CREATE TABLE IF NOT EXISTS sfumato.answer (
    database text NOT NULL REFERENCES sfumato.ledger, sha256 text NOT NULL, text text NOT NULL,
    PRIMARY KEY (database, sha256)
);

CREATE TABLE IF NOT EXISTS sfumato.token (
    database text NOT NULL REFERENCES sfumato.ledger, id text NOT NULL, name text NOT NULL,
    role text NOT NULL, created text NOT NULL, expires text, revoked text, digest bytea NOT NULL,
    PRIMARY KEY (database, id)
);

CREATE OR REPLACE FUNCTION sfumato.stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'records and answers are never changed or removed';
END $$;

CREATE OR REPLACE FUNCTION sfumato.follows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.number <> 1 AND NOT EXISTS (
        SELECT FROM sfumato.record WHERE database = NEW.database AND number = NEW.number - 1
            AND digest = NEW.previous
    ) THEN
        RAISE EXCEPTION 'records are appended one after the other';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER follows BEFORE INSERT ON sfumato.record
    FOR EACH ROW EXECUTE FUNCTION sfumato.follows();

CREATE OR REPLACE TRIGGER stays BEFORE UPDATE OR DELETE OR TRUNCATE ON sfumato.record
    FOR EACH STATEMENT EXECUTE FUNCTION sfumato.stays();

CREATE OR REPLACE TRIGGER stays BEFORE UPDATE OR DELETE OR TRUNCATE ON sfumato.answer
    FOR EACH STATEMENT EXECUTE FUNCTION sfumato.stays()
"""
