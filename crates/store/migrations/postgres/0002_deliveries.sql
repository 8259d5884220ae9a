-- Deliveries of events to the app's webhook: a row for each event that is to be delivered.

CREATE TABLE deliveries (
    -- The event's.
    stream          bytea  NOT NULL,
    idx             bigint NOT NULL,
    -- 0 pending, 1 delivered, 2 given up.
    status          bigint NOT NULL,
    -- Since it became pending.
    attempts        bigint NOT NULL,
    since           bigint NOT NULL,
    due_at          bigint NOT NULL,
    last_attempt_at bigint,
    last_status     bigint,
    last_error      text   COLLATE "C",
    PRIMARY KEY (stream, idx)
);

-- Lists by status, and counts.
CREATE INDEX deliveries_status ON deliveries (status, stream, idx);

-- For retention.
CREATE INDEX deliveries_settled ON deliveries (last_attempt_at) WHERE status <> 0;
