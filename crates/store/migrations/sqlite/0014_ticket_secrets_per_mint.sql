-- The secrets of tickets are derived for each mint's address now, not for the keyset alone. Of the new secrets none was used
-- yet, so all counters begin again. The rows stay: a keyset of which proofs are stored must have one.
--
-- Stored proofs and unfinished jobs keep their secrets: those are stored with them.
UPDATE ticket_counters SET next = 0;
