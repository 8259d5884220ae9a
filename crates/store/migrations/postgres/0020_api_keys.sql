-- Who started an operation: a number that means something only to what gave it. NULL: nobody who has one, as of every operation before.
ALTER TABLE operations ADD COLUMN origin bigint;

-- API keys: of each secret only the SHA-256 digest is here. What a key may do is JSON, and times are Unix milliseconds.
CREATE TABLE api_keys (
    id               bytea NOT NULL PRIMARY KEY,
    digest           bytea NOT NULL,
    previous_digest  bytea,
    previous_until   bigint,
    terms            text NOT NULL,
    created_at       bigint NOT NULL,
    used_at          bigint,
    previous_used_at bigint
);
