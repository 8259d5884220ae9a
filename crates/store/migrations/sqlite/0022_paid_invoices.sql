-- An invoice that was paid is not paid again: the books are searched by payment hash.
CREATE INDEX payment_records_payment_hash ON payment_records (payment_hash) WHERE payment_hash IS NOT NULL;
