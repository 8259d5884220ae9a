-- Who started an operation: a number that means something only to what gave it. NULL: nobody who has one, as of every operation before.
ALTER TABLE operations ADD COLUMN origin INTEGER;

-- API keys: of each secret only the SHA-256 digest is here. What a key may do is JSON, and times are Unix milliseconds.
CREATE TABLE api_keys (
    id               BLOB NOT NULL PRIMARY KEY,
    digest           BLOB NOT NULL,
    previous_digest  BLOB,
    previous_until   INTEGER,
    terms            TEXT NOT NULL,
    created_at       INTEGER NOT NULL,
    used_at          INTEGER,
    previous_used_at INTEGER
) STRICT;
