-- Deliveries of one queue are made one after the other. A stream is a queue; on the reserved stream each subscription has its own.
-- What is pending on the reserved stream when this migration is made stays in one queue: it is ordered as it was.
ALTER TABLE deliveries ADD COLUMN queue BLOB NOT NULL DEFAULT x'00000000000000000000000000000000';
UPDATE deliveries SET queue = stream;

-- The first pending one of a queue, and the queues that have some and when they are due.
CREATE INDEX deliveries_queue ON deliveries (queue, idx, due_at) WHERE status = 0;
