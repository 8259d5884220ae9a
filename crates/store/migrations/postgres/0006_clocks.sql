-- When an operation was committed last, and how long a delivery has been tried: what a wrong clock must not decide.

-- The time of the last commit. In the future after the machine's clock was set back: then the times in the state are, too.
ALTER TABLE operations ADD COLUMN at bigint NOT NULL DEFAULT 0;

-- The pauses between the attempts of a delivery since it became pending, in milliseconds.
ALTER TABLE deliveries ADD COLUMN waited bigint NOT NULL DEFAULT 0;
