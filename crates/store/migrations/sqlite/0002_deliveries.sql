-- Deliveries of events to the app's webhook: a row for each event that is to be delivered.

CREATE TABLE deliveries (
    -- The event's.
    stream          BLOB    NOT NULL,
    idx             INTEGER NOT NULL,
    -- 0 pending, 1 delivered, 2 given up.
    status          INTEGER NOT NULL,
    -- Since it became pending.
    attempts        INTEGER NOT NULL,
    since           INTEGER NOT NULL,
    due_at          INTEGER NOT NULL,
    last_attempt_at INTEGER,
    last_status     INTEGER,
    last_error      TEXT,
    PRIMARY KEY (stream, idx)
) STRICT, WITHOUT ROWID;

-- The first pending one of a stream, the streams that have some and when they are due, lists by status, and counts.
CREATE INDEX deliveries_status ON deliveries (status, stream, idx, due_at);

-- For retention.
CREATE INDEX deliveries_settled ON deliveries (last_attempt_at) WHERE status <> 0;
