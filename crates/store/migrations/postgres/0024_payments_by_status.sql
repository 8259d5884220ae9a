-- The books are listed by status: of a million payments, a few are not paid.
CREATE INDEX payment_records_status ON payment_records (status, created_at, stream) WHERE status <> 'paid';
