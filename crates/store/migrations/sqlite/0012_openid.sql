-- The OpenID Connect provider: requests, sessions, codes and tokens by the hash of their secret, and what users agreed to.

-- A rowid table: see `operations`.
CREATE TABLE openid_records (
    id         BLOB    NOT NULL PRIMARY KEY,
    -- Records of one grant are removed together.
    grant_id   BLOB,
    client_id  TEXT,
    subject    TEXT,
    data       TEXT    NOT NULL,
    expires_at INTEGER NOT NULL,
    used       INTEGER NOT NULL
) STRICT;

CREATE INDEX openid_records_grant ON openid_records (grant_id) WHERE grant_id IS NOT NULL;

CREATE INDEX openid_records_subject ON openid_records (client_id, subject) WHERE subject IS NOT NULL;

-- For retention.
CREATE INDEX openid_records_expired ON openid_records (expires_at, id);

CREATE TABLE openid_consents (
    client_id TEXT    NOT NULL,
    subject   TEXT    NOT NULL,
    scopes    TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (client_id, subject)
) STRICT, WITHOUT ROWID;
