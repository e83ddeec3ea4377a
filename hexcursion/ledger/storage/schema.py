"""The ledger's tables, and the triggers that keep them append-only."""

from __future__ import annotations

from sqlalchemy import Column, Integer, LargeBinary, MetaData, Table, Text

METADATA = MetaData()

ENTRIES = Table(
    "ledger_entries",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("refers_to", Integer),
    Column("curve", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
    sqlite_strict=True,
)

# One row: how many entries there are and the last one's hash, signed with the curator's key.
HEAD = Table(
    "ledger_head",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("entries", Integer, nullable=False),
    Column("hash", Text, nullable=False),
    Column("signature", Text, nullable=False),
    sqlite_strict=True,
)

# Record hashes of each dataset; the chain's `records` entry holds their SHA-256.
RECORDS = Table(
    "ledger_records",
    METADATA,
    Column("dataset", Text, primary_key=True),
    Column("hashes", LargeBinary, nullable=False),
    sqlite_strict=True,
)

# Which entry charged which request: the database itself refuses the second one.
REQUESTS = Table(
    "ledger_requests",
    METADATA,
    Column("request", Text, primary_key=True),
    Column("entry", Integer, nullable=False, unique=True),
    sqlite_strict=True,
)

_BESIDE = (RECORDS, REQUESTS)

TRIGGERS = (
    "ledger_entries_no_update",
    "ledger_entries_no_delete",
    "ledger_entries_in_order",
    "ledger_head_forward",
    "ledger_head_no_delete",
    *(f"{table.name}_no_{verb}" for table in _BESIDE for verb in ("update", "delete")),
)
POSTGRES_TRIGGERS = (*TRIGGERS, *(f"{table.name}_no_truncate" for table in (ENTRIES, HEAD, *_BESIDE)))

_APPEND_ONLY = "the ledger is append-only"
_IN_ORDER = "ledger entries are numbered without gaps"
_FORWARD = "the head of the ledger only moves forward"

SQLITE_DDL = (
    f"""CREATE TRIGGER ledger_entries_no_update BEFORE UPDATE ON ledger_entries
        BEGIN SELECT RAISE(ABORT, '{_APPEND_ONLY}'); END""",
    f"""CREATE TRIGGER ledger_entries_no_delete BEFORE DELETE ON ledger_entries
        BEGIN SELECT RAISE(ABORT, '{_APPEND_ONLY}'); END""",
    # Also stops INSERT OR REPLACE, which deletes without firing the trigger above.
    f"""CREATE TRIGGER ledger_entries_in_order BEFORE INSERT ON ledger_entries
        WHEN NEW.number IS NOT (SELECT coalesce(max(number) + 1, 0) FROM ledger_entries)
        BEGIN SELECT RAISE(ABORT, '{_IN_ORDER}'); END""",
    f"""CREATE TRIGGER ledger_head_forward BEFORE UPDATE ON ledger_head
        WHEN NEW.id IS NOT OLD.id OR NEW.entries IS NOT OLD.entries + 1
        BEGIN SELECT RAISE(ABORT, '{_FORWARD}'); END""",
    f"""CREATE TRIGGER ledger_head_no_delete BEFORE DELETE ON ledger_head
        BEGIN SELECT RAISE(ABORT, '{_APPEND_ONLY}'); END""",
    *(
        f"""CREATE TRIGGER {table.name}_no_{verb} BEFORE {verb.upper()} ON {table.name}
        BEGIN SELECT RAISE(ABORT, '{_APPEND_ONLY}'); END"""
        for table in _BESIDE
        for verb in ("update", "delete")
    ),
)

POSTGRES_DDL = (
    f"""CREATE OR REPLACE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION '{_APPEND_ONLY}'; END $$""",
    f"""CREATE OR REPLACE FUNCTION ledger_check_order() RETURNS trigger LANGUAGE plpgsql AS
        $$ DECLARE following integer;
        BEGIN
            EXECUTE 'SELECT coalesce(max(number) + 1, 0) FROM '
                || quote_ident(TG_TABLE_SCHEMA) || '.ledger_entries' INTO following;
            IF NEW.number <> following THEN RAISE EXCEPTION '{_IN_ORDER}'; END IF;
            RETURN NEW;
        END $$""",
    f"""CREATE OR REPLACE FUNCTION ledger_check_head() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN
            IF NEW.id <> OLD.id OR NEW.entries <> OLD.entries + 1 THEN
                RAISE EXCEPTION '{_FORWARD}';
            END IF;
            RETURN NEW;
        END $$""",
    """CREATE TRIGGER ledger_entries_no_update BEFORE UPDATE ON ledger_entries
        FOR EACH ROW EXECUTE FUNCTION ledger_refuse()""",
    """CREATE TRIGGER ledger_entries_no_delete BEFORE DELETE ON ledger_entries
        FOR EACH ROW EXECUTE FUNCTION ledger_refuse()""",
    """CREATE TRIGGER ledger_entries_no_truncate BEFORE TRUNCATE ON ledger_entries
        FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse()""",
    """CREATE TRIGGER ledger_entries_in_order BEFORE INSERT ON ledger_entries
        FOR EACH ROW EXECUTE FUNCTION ledger_check_order()""",
    """CREATE TRIGGER ledger_head_forward BEFORE UPDATE ON ledger_head
        FOR EACH ROW EXECUTE FUNCTION ledger_check_head()""",
    """CREATE TRIGGER ledger_head_no_delete BEFORE DELETE ON ledger_head
        FOR EACH ROW EXECUTE FUNCTION ledger_refuse()""",
    """CREATE TRIGGER ledger_head_no_truncate BEFORE TRUNCATE ON ledger_head
        FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse()""",
    *(
        f"""CREATE TRIGGER {table.name}_no_{verb} BEFORE {verb.upper()} ON {table.name}
        FOR EACH {"STATEMENT" if verb == "truncate" else "ROW"} EXECUTE FUNCTION ledger_refuse()"""
        for table in _BESIDE
        for verb in ("update", "delete", "truncate")
    ),
)
