-- Answers to calls, by idempotency key. A rowid table: see `operations`.

CREATE TABLE answers (
    key         BLOB    NOT NULL PRIMARY KEY,
    -- SHA-256 of the call's body.
    fingerprint BLOB    NOT NULL,
    at          INTEGER NOT NULL,
    status      INTEGER NOT NULL,
    media_type  TEXT    NOT NULL,
    body        BLOB    NOT NULL
) STRICT;

-- For retention.
CREATE INDEX answers_at ON answers (at);
