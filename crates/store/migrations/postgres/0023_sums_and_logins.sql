-- Sums of each hour: of the books and of the logins, written with them. An hour is its number since the Unix epoch. They name
-- no user and stay. Amounts are in millisats.
CREATE TABLE hourly_sums (
    hour               bigint NOT NULL PRIMARY KEY,
    paid               bigint NOT NULL,
    paid_millisats     bigint NOT NULL,
    refunded_millisats bigint NOT NULL,
    sent_millisats     bigint NOT NULL,
    unpaid             bigint NOT NULL,
    logins             bigint NOT NULL,
    logins_failed      bigint NOT NULL
);

-- Of earlier logins, only those that have events are known.
INSERT INTO hourly_sums
SELECT at / 3600000, sum(paid), sum(paid_millisats), sum(refunded_millisats), sum(sent_millisats), sum(unpaid), sum(approved),
    sum(failed)
FROM (
    SELECT changed_at AS at,
        CASE WHEN status = 'paid' AND kind IN ('payment', 'charge') THEN 1 ELSE 0 END AS paid,
        CASE WHEN kind IN ('payment', 'charge') THEN coalesce(settled, 0) ELSE 0 END AS paid_millisats,
        CASE WHEN kind = 'refund' THEN coalesce(settled, 0) ELSE 0 END AS refunded_millisats,
        CASE WHEN kind IN ('invoice', 'on_chain') THEN coalesce(settled, 0) ELSE 0 END AS sent_millisats,
        CASE WHEN status = 'not_paid' AND kind IN ('payment', 'charge') THEN 1 ELSE 0 END AS unpaid,
        0 AS approved,
        0 AS failed
    FROM payment_records WHERE status IN ('paid', 'not_paid')
    UNION ALL
    SELECT e.at, 0, 0, 0, 0, 0,
        CASE WHEN e.data LIKE '%"status":"approved"%' THEN 1 ELSE 0 END,
        CASE WHEN e.data LIKE '%"status":"declined"%' OR e.data LIKE '%"status":"timeout"%'
            OR e.data LIKE '%"status":"error"%' THEN 1 ELSE 0 END
    FROM events AS e JOIN operations AS o ON o.id = e.stream
    WHERE e.type = 'StatusUpdate' AND (o.kind IN (2, 12) OR (o.kind = 1 AND e.data LIKE '%"method":"%'))
) AS counted
WHERE at >= 0 AND paid + paid_millisats + refunded_millisats + sent_millisats + unpaid + approved + failed > 0
GROUP BY 1;

-- How logins ended, kept as long as finished operations. `operation` is the login; `stream` has its events: its own, or that of a
-- reusable login.
CREATE TABLE login_records (
    at        bigint NOT NULL,
    operation bytea  NOT NULL,
    stream    bytea  NOT NULL,
    origin    bigint,
    status    text   NOT NULL,
    method    text,
    app       text,
    main_key  bytea,
    reason    text,
    PRIMARY KEY (at, operation)
);

CREATE INDEX login_records_stream ON login_records (stream, at, operation);
CREATE INDEX login_records_main_key ON login_records (main_key, at, operation) WHERE main_key IS NOT NULL;

-- The books are searched by the app's own reference.
CREATE INDEX payment_records_reference ON payment_records (reference, created_at, stream) WHERE reference IS NOT NULL;
