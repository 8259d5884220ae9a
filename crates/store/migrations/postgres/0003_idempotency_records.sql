-- Answers to calls, by idempotency key.

CREATE TABLE answers (
    key         bytea  NOT NULL PRIMARY KEY,
    -- SHA-256 of the call's body.
    fingerprint bytea  NOT NULL,
    at          bigint NOT NULL,
    status      bigint NOT NULL,
    media_type  text   NOT NULL COLLATE "C",
    body        bytea  NOT NULL
);

-- For retention.
CREATE INDEX answers_at ON answers (at);
