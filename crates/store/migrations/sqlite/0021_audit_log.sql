-- The audit log: who changed what, each entry chained to those before it.
CREATE TABLE audit_log (
    sequence   INTEGER NOT NULL PRIMARY KEY,
    at         INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    address    TEXT NOT NULL,
    action     TEXT NOT NULL,
    details    TEXT NOT NULL,
    outcome    TEXT NOT NULL,
    request_id TEXT NOT NULL,
    hash       BLOB NOT NULL
) STRICT;

-- Where the chain begins ('first': before the oldest entry that is kept) and where it continues ('last': after the newest one).
CREATE TABLE audit_chain (
    bound    TEXT NOT NULL PRIMARY KEY,
    sequence INTEGER NOT NULL,
    link     BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Against mistakes: whoever can change the schema can remove these. The chain shows what they do.
CREATE TRIGGER audit_log_unchanged BEFORE UPDATE ON audit_log BEGIN
    SELECT RAISE(ABORT, 'entries of the audit log do not change');
END;

-- Retention moves the beginning of the chain first.
CREATE TRIGGER audit_log_kept BEFORE DELETE ON audit_log
WHEN old.sequence > coalesce((SELECT sequence FROM audit_chain WHERE bound = 'first'), 0) BEGIN
    SELECT RAISE(ABORT, 'entries of the audit log are removed from its beginning only');
END;
