-- Every payment is open at first, and paid for an entry that was soon removed. The open ones are found by their operations.
DROP INDEX payment_records_status;
CREATE INDEX payment_records_status ON payment_records (status, created_at, stream) WHERE status IN ('not_paid', 'unknown');
