-- Sums of each hour: of the books and of the logins, written with them. An hour is its number since the Unix epoch. They name
-- no user and stay. Amounts are in millisats.
CREATE TABLE hourly_sums (
    hour               INTEGER NOT NULL PRIMARY KEY,
    paid               INTEGER NOT NULL,
    paid_millisats     INTEGER NOT NULL,
    refunded_millisats INTEGER NOT NULL,
    sent_millisats     INTEGER NOT NULL,
    unpaid             INTEGER NOT NULL,
    logins             INTEGER NOT NULL,
    logins_failed      INTEGER NOT NULL
) STRICT;

-- Of earlier logins, only those that have events are known.
INSERT INTO hourly_sums
SELECT at / 3600000, sum(paid), sum(paid_millisats), sum(refunded_millisats), sum(sent_millisats), sum(unpaid), sum(approved),
    sum(failed)
FROM (
    SELECT changed_at AS at,
        status = 'paid' AND kind IN ('payment', 'charge') AS paid,
        CASE WHEN kind IN ('payment', 'charge') THEN coalesce(settled, 0) ELSE 0 END AS paid_millisats,
        CASE WHEN kind = 'refund' THEN coalesce(settled, 0) ELSE 0 END AS refunded_millisats,
        CASE WHEN kind IN ('invoice', 'on_chain') THEN coalesce(settled, 0) ELSE 0 END AS sent_millisats,
        status = 'not_paid' AND kind IN ('payment', 'charge') AS unpaid,
        0 AS approved,
        0 AS failed
    FROM payment_records WHERE status IN ('paid', 'not_paid')
    UNION ALL
    SELECT e.at, 0, 0, 0, 0, 0,
        e.data LIKE '%"status":"approved"%',
        e.data LIKE '%"status":"declined"%' OR e.data LIKE '%"status":"timeout"%' OR e.data LIKE '%"status":"error"%'
    FROM events AS e JOIN operations AS o ON o.id = e.stream
    WHERE e.type = 'StatusUpdate' AND (o.kind IN (2, 12) OR (o.kind = 1 AND e.data LIKE '%"method":"%'))
) AS counted
WHERE at >= 0 AND paid + paid_millisats + refunded_millisats + sent_millisats + unpaid + approved + failed > 0
GROUP BY 1;

-- How logins ended, kept as long as finished operations. `operation` is the login; `stream` has its events: its own, or that of a
-- reusable login.
CREATE TABLE login_records (
    at        INTEGER NOT NULL,
    operation BLOB    NOT NULL,
    stream    BLOB    NOT NULL,
    origin    INTEGER,
    status    TEXT    NOT NULL,
    method    TEXT,
    app       TEXT,
    main_key  BLOB,
    reason    TEXT,
    PRIMARY KEY (at, operation)
) STRICT, WITHOUT ROWID;

CREATE INDEX login_records_stream ON login_records (stream, at, operation);
CREATE INDEX login_records_main_key ON login_records (main_key, at, operation) WHERE main_key IS NOT NULL;

-- The books are searched by the app's own reference.
CREATE INDEX payment_records_reference ON payment_records (reference, created_at, stream) WHERE reference IS NOT NULL;
