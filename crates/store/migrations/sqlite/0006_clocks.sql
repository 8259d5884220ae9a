-- When an operation was committed last, and how long a delivery has been tried: what a wrong clock must not decide.

-- The time of the last commit. In the future after the machine's clock was set back: then the times in the state are, too.
ALTER TABLE operations ADD COLUMN at INTEGER NOT NULL DEFAULT 0;

-- The pauses between the attempts of a delivery since it became pending, in milliseconds.
ALTER TABLE deliveries ADD COLUMN waited INTEGER NOT NULL DEFAULT 0;

-- As before, with the new column.
DROP INDEX operations_open;
CREATE INDEX operations_open
    ON operations (id, kind, next_index, wake_at, outbox, correlations, done, watched, at, finished_at)
    WHERE finished_at IS NULL;
