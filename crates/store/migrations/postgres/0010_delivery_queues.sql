-- Deliveries of one queue are made one after the other. A stream is a queue; on the reserved stream each subscription has its own.
ALTER TABLE deliveries ADD COLUMN queue bytea NOT NULL DEFAULT '\x00000000000000000000000000000000';

-- The first pending one of a queue, and the queues that have some and when they are due.
CREATE INDEX deliveries_queue ON deliveries (queue, idx, due_at) WHERE status = 0;
