-- Payments: operations of which nothing more is expected, though money may still come, and invoices to look after.

-- Nothing more is expected of it; it may be open all the same.
ALTER TABLE operations ADD COLUMN done boolean NOT NULL DEFAULT FALSE;

-- The payment hash of an invoice of our own that may be paid.
ALTER TABLE operations ADD COLUMN watched bytea;

-- Subscriptions (kind 8) are listed.
CREATE INDEX operations_subscriptions ON operations (id) WHERE kind = 8 AND finished_at IS NULL;
