-- Operations, their events, and what else must survive.
--
-- A start call costs one row in `operations`, one in `correlations` and one entry in `operations_open`: keep it so.
-- Times are Unix milliseconds. Keys are raw bytes; lists of keys are their bytes one after the other.
--
-- Tables with short rows are WITHOUT ROWID: one tree instead of two. `operations` is not, since there a row above
-- 1,000 bytes would take a page of its own (measured: states of 1,200 bytes made the file three times as large).

CREATE TABLE operations (
    -- UUIDv7: new entries go to the end of the index. It also tells when the operation was created.
    id           BLOB    NOT NULL PRIMARY KEY,
    kind         INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    revision     INTEGER NOT NULL,
    next_index   INTEGER NOT NULL,
    wake_at      INTEGER,
    -- How many rows `outbox` has for it.
    outbox       INTEGER NOT NULL,
    -- The keys that `correlations` has for it, so that this table needs no index by operation.
    correlations BLOB    NOT NULL,
    finished_at  INTEGER,
    -- The reserved stream (kind 0) never finishes, so nothing can remove it.
    CONSTRAINT reserved_stays_open CHECK (kind <> 0 OR finished_at IS NULL)
) STRICT;

-- All that rebuilding the engine's index after a start needs, in one piece of the file, however many finished
-- operations there are. (`finished_at` is always NULL here; without it the index would not be a covering one.)
CREATE INDEX operations_open ON operations (id, kind, next_index, wake_at, outbox, correlations, finished_at)
    WHERE finished_at IS NULL;

-- For retention.
CREATE INDEX operations_finished ON operations (finished_at, id) WHERE finished_at IS NOT NULL;

-- Which open operation a wallet's message belongs to; the rows go when it finishes.
CREATE TABLE correlations (
    key       BLOB NOT NULL PRIMARY KEY,
    operation BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    stream BLOB    NOT NULL,
    idx    INTEGER NOT NULL,
    type   TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    data   TEXT    NOT NULL,
    PRIMARY KEY (stream, idx)
) STRICT, WITHOUT ROWID;

-- Messages that are sent again until their operation takes them out.
CREATE TABLE outbox (
    operation    BLOB    NOT NULL,
    slot         INTEGER NOT NULL,
    kind         INTEGER NOT NULL,
    content      TEXT    NOT NULL,
    main_key     BLOB    NOT NULL,
    recipients   BLOB    NOT NULL,
    participants BLOB    NOT NULL,
    until        INTEGER NOT NULL,
    PRIMARY KEY (operation, slot)
) STRICT, WITHOUT ROWID;

-- Nostr events that were handled: relays deliver the same one many times, also days later.
CREATE TABLE inbound (
    id BLOB    NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX inbound_at ON inbound (at);

-- Where a user can be reached: a JSON array of addresses, and when they were named.
CREATE TABLE user_relays (
    main_key BLOB    NOT NULL PRIMARY KEY,
    relays   TEXT    NOT NULL,
    at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX user_relays_at ON user_relays (at);

-- The reserved stream `subscriptions`.
INSERT INTO operations (id, kind, state, revision, next_index, outbox, correlations)
VALUES (x'00000000000000000000000000000000', 0, '{}', 1, 0, 0, x'');
