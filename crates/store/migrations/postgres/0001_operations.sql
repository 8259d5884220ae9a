-- Operations, their events, and what else must survive. The same as in SQLite, in PostgreSQL's types.
--
-- Times are Unix milliseconds. Keys are raw bytes; lists of keys are their bytes one after the other. Texts are compared byte
-- by byte (collation "C"), and hold U+0000 in the form that `src/postgres/text.rs` describes.

CREATE TABLE operations (
    -- UUIDv7: new entries go to the end of the index. It also tells when the operation was created.
    id           bytea  NOT NULL PRIMARY KEY,
    kind         bigint NOT NULL,
    state        text   NOT NULL COLLATE "C",
    revision     bigint NOT NULL,
    next_index   bigint NOT NULL,
    wake_at      bigint,
    -- How many rows `outbox` has for it.
    outbox       bigint NOT NULL,
    -- The keys that `correlations` has for it, so that this table needs no index by operation.
    correlations bytea  NOT NULL,
    finished_at  bigint,
    -- The reserved stream (kind 0) never finishes, so nothing can remove it.
    CONSTRAINT reserved_stays_open CHECK (kind <> 0 OR finished_at IS NULL)
-- A step changes no column that is indexed: with room on the page it writes no index.
) WITH (fillfactor = 70);

-- Of no other columns, as in SQLite: keys of many bytes do not fit into an index.
CREATE INDEX operations_open ON operations (id) WHERE finished_at IS NULL;

-- For retention.
CREATE INDEX operations_finished ON operations (finished_at, id) WHERE finished_at IS NOT NULL;

-- Which open operation a wallet's message belongs to; the rows go when it finishes.
CREATE TABLE correlations (
    key       bytea NOT NULL PRIMARY KEY,
    operation bytea NOT NULL
);

CREATE TABLE events (
    stream bytea  NOT NULL,
    idx    bigint NOT NULL,
    type   text   NOT NULL COLLATE "C",
    at     bigint NOT NULL,
    data   text   NOT NULL COLLATE "C",
    PRIMARY KEY (stream, idx)
);

-- Messages that are sent again until their operation takes them out.
CREATE TABLE outbox (
    operation    bytea  NOT NULL,
    slot         bigint NOT NULL,
    kind         bigint NOT NULL,
    content      text   NOT NULL COLLATE "C",
    main_key     bytea  NOT NULL,
    recipients   bytea  NOT NULL,
    participants bytea  NOT NULL,
    until        bigint NOT NULL,
    PRIMARY KEY (operation, slot)
);

-- Nostr events that were handled: relays deliver the same one many times, also days later.
CREATE TABLE inbound (
    id bytea  NOT NULL PRIMARY KEY,
    at bigint NOT NULL
);

CREATE INDEX inbound_at ON inbound (at);

-- Where a user can be reached: a JSON array of addresses, and when they were named.
CREATE TABLE user_relays (
    main_key bytea  NOT NULL PRIMARY KEY,
    relays   text   NOT NULL COLLATE "C",
    at       bigint NOT NULL
);

CREATE INDEX user_relays_at ON user_relays (at);

-- The reserved stream `subscriptions`.
INSERT INTO operations (id, kind, state, revision, next_index, outbox, correlations)
VALUES ('\x00000000000000000000000000000000', 0, '{}', 1, 0, 0, '');
