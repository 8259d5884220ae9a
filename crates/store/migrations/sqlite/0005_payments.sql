-- Payments: operations of which nothing more is expected, though money may still come, and invoices to look after.

-- Nothing more is expected of it; it may be open all the same.
ALTER TABLE operations ADD COLUMN done INTEGER NOT NULL DEFAULT 0;

-- The payment hash of an invoice of our own that may be paid.
ALTER TABLE operations ADD COLUMN watched BLOB;

UPDATE operations SET done = 1 WHERE finished_at IS NOT NULL;

-- As before, with the new columns.
DROP INDEX operations_open;
CREATE INDEX operations_open
    ON operations (id, kind, next_index, wake_at, outbox, correlations, done, watched, finished_at)
    WHERE finished_at IS NULL;

-- Subscriptions (kind 8) are listed.
CREATE INDEX operations_subscriptions ON operations (id) WHERE kind = 8 AND finished_at IS NULL;
