-- The books: a row for each payment that the service received or made, which is kept longer than its operation. Amounts are in
-- millisats, and of its two parties nothing is known but what the app wrote into description and reference.
CREATE TABLE payment_records (
    stream       bytea NOT NULL PRIMARY KEY,
    kind         text NOT NULL,
    status       text NOT NULL,
    amount       bigint NOT NULL,
    settled      bigint,
    fee          bigint,
    description  text NOT NULL,
    reference    text,
    payment_hash bytea,
    created_at   bigint NOT NULL,
    changed_at   bigint NOT NULL,
    refund_of    bytea,
    price        text
);

CREATE INDEX payment_records_created_at ON payment_records (created_at, stream);
CREATE INDEX payment_records_changed_at ON payment_records (changed_at);
CREATE INDEX payment_records_refund_of ON payment_records (refund_of) WHERE refund_of IS NOT NULL;
