-- What is repeated soon is the same Nostr event, which follows from the message and when it was put into the outbox; and what
-- the user has answered is not repeated for a while.
ALTER TABLE outbox ADD COLUMN made_at bigint NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN not_before bigint NOT NULL DEFAULT 0;
