-- Correlation keys that a finished operation keeps: nobody else can claim them before this time (Unix milliseconds).
-- NULL while their operation is open. An invoice that was paid must not be believed once more.
ALTER TABLE correlations ADD COLUMN until bigint;

-- For retention.
CREATE INDEX correlations_kept ON correlations (until) WHERE until IS NOT NULL;
