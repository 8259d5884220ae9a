-- The books: a row for each payment that the service received or made, which is kept longer than its operation. Amounts are in
-- millisats, and of its two parties nothing is known but what the app wrote into description and reference.
CREATE TABLE payment_records (
    stream       BLOB NOT NULL PRIMARY KEY,
    kind         TEXT NOT NULL,
    status       TEXT NOT NULL,
    amount       INTEGER NOT NULL,
    settled      INTEGER,
    fee          INTEGER,
    description  TEXT NOT NULL,
    reference    TEXT,
    payment_hash BLOB,
    created_at   INTEGER NOT NULL,
    changed_at   INTEGER NOT NULL,
    refund_of    BLOB,
    price        TEXT
) STRICT;

CREATE INDEX payment_records_created_at ON payment_records (created_at, stream);
CREATE INDEX payment_records_changed_at ON payment_records (changed_at);
CREATE INDEX payment_records_refund_of ON payment_records (refund_of) WHERE refund_of IS NOT NULL;
