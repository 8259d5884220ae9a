-- The OpenID Connect provider: requests, sessions, codes and tokens by the hash of their secret, and what users agreed to.

CREATE TABLE openid_records (
    id         bytea   NOT NULL PRIMARY KEY,
    -- In the order in which they were added.
    seq        bigint  NOT NULL GENERATED ALWAYS AS IDENTITY,
    -- Records of one grant are removed together.
    grant_id   bytea,
    client_id  text    COLLATE "C",
    subject    text    COLLATE "C",
    data       text    NOT NULL COLLATE "C",
    expires_at bigint  NOT NULL,
    used       boolean NOT NULL
);

CREATE INDEX openid_records_grant ON openid_records (grant_id) WHERE grant_id IS NOT NULL;

CREATE INDEX openid_records_subject ON openid_records (client_id, subject) WHERE subject IS NOT NULL;

-- For retention.
CREATE INDEX openid_records_expired ON openid_records (expires_at, id);

CREATE TABLE openid_consents (
    client_id text   NOT NULL COLLATE "C",
    subject   text   NOT NULL COLLATE "C",
    scopes    text   NOT NULL COLLATE "C",
    at        bigint NOT NULL,
    PRIMARY KEY (client_id, subject)
);
