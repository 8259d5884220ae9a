CREATE TABLE answers (
    key         BLOB    NOT NULL PRIMARY KEY,
    -- SHA-256 of the call's body.
    fingerprint BLOB    NOT NULL,
    at          INTEGER NOT NULL,
    status      INTEGER NOT NULL,
    media_type  TEXT    NOT NULL,
    body        BLOB    NOT NULL
) STRICT;

CREATE TABLE api_keys (
    id               BLOB NOT NULL PRIMARY KEY,
    digest           BLOB NOT NULL,
    previous_digest  BLOB,
    previous_until   INTEGER,
    terms            TEXT NOT NULL,
    created_at       INTEGER NOT NULL,
    used_at          INTEGER,
    previous_used_at INTEGER
) STRICT;

CREATE TABLE audit_chain (
    bound    TEXT NOT NULL PRIMARY KEY,
    sequence INTEGER NOT NULL,
    link     BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_log (
    sequence   INTEGER NOT NULL PRIMARY KEY,
    at         INTEGER NOT NULL,
    actor      TEXT NOT NULL,
    address    TEXT NOT NULL,
    action     TEXT NOT NULL,
    details    TEXT NOT NULL,
    outcome    TEXT NOT NULL,
    request_id TEXT NOT NULL,
    hash       BLOB NOT NULL
) STRICT;

CREATE TABLE correlations (
    key       BLOB NOT NULL PRIMARY KEY,
    operation BLOB NOT NULL
, until INTEGER) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    -- The event's.
    stream          BLOB    NOT NULL,
    idx             INTEGER NOT NULL,
    -- 0 pending, 1 delivered, 2 given up.
    status          INTEGER NOT NULL,
    -- Since it became pending.
    attempts        INTEGER NOT NULL,
    since           INTEGER NOT NULL,
    due_at          INTEGER NOT NULL,
    last_attempt_at INTEGER,
    last_status     INTEGER,
    last_error      TEXT, waited INTEGER NOT NULL DEFAULT 0, queue BLOB NOT NULL DEFAULT x'00000000000000000000000000000000',
    PRIMARY KEY (stream, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    stream BLOB    NOT NULL,
    idx    INTEGER NOT NULL,
    type   TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    data   TEXT    NOT NULL,
    PRIMARY KEY (stream, idx)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE inbound (
    id BLOB    NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE TABLE openid_consents (
    client_id TEXT    NOT NULL,
    subject   TEXT    NOT NULL,
    scopes    TEXT    NOT NULL,
    at        INTEGER NOT NULL, visitor TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (client_id, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE openid_records (
    id         BLOB    NOT NULL PRIMARY KEY,
    -- Records of one grant are removed together.
    grant_id   BLOB,
    client_id  TEXT,
    subject    TEXT,
    data       TEXT    NOT NULL,
    expires_at INTEGER NOT NULL,
    used       INTEGER NOT NULL
, quota INTEGER NOT NULL DEFAULT 0, visitor TEXT NOT NULL DEFAULT '', bytes INTEGER NOT NULL DEFAULT 0, used_at INTEGER) STRICT;

CREATE TABLE openid_sizes (
    quota   INTEGER NOT NULL,
    visitor TEXT    NOT NULL,
    bytes   INTEGER NOT NULL,
    PRIMARY KEY (quota, visitor)
) STRICT, WITHOUT ROWID;

CREATE TABLE operations (
    -- UUIDv7: new entries go to the end of the index. It also tells when the operation was created.
    id           BLOB    NOT NULL PRIMARY KEY,
    kind         INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    revision     INTEGER NOT NULL,
    next_index   INTEGER NOT NULL,
    wake_at      INTEGER,
    -- How many rows `outbox` has for it.
    outbox       INTEGER NOT NULL,
    -- The keys that `correlations` has for it, so that this table needs no index by operation.
    correlations BLOB    NOT NULL,
    finished_at  INTEGER, done INTEGER NOT NULL DEFAULT 0, watched BLOB, at INTEGER NOT NULL DEFAULT 0, origin INTEGER,
    -- The reserved stream (kind 0) never finishes, so nothing can remove it.
    CONSTRAINT reserved_stays_open CHECK (kind <> 0 OR finished_at IS NULL)
) STRICT;

CREATE TABLE outbox (
    operation    BLOB    NOT NULL,
    slot         INTEGER NOT NULL,
    kind         INTEGER NOT NULL,
    content      TEXT    NOT NULL,
    main_key     BLOB    NOT NULL,
    recipients   BLOB    NOT NULL,
    participants BLOB    NOT NULL,
    until        INTEGER NOT NULL, made_at INTEGER NOT NULL DEFAULT 0, not_before INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (operation, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE passkeys (
    credential_id BLOB    NOT NULL PRIMARY KEY,
    main_key      BLOB    NOT NULL,
    user_handle   BLOB    NOT NULL,
    public_key    BLOB    NOT NULL,
    state         BLOB    NOT NULL,
    wrapped_key   BLOB,
    created_at    INTEGER NOT NULL,
    used_at       INTEGER NOT NULL
) STRICT;

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

CREATE TABLE settings (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE ticket_claims (
    proof BLOB NOT NULL PRIMARY KEY,
    job   BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE ticket_counters (
    mint_url TEXT    NOT NULL,
    keyset   TEXT    NOT NULL,
    next     INTEGER NOT NULL,
    PRIMARY KEY (mint_url, keyset)
) STRICT, WITHOUT ROWID;

CREATE TABLE ticket_jobs (
    id          BLOB    NOT NULL PRIMARY KEY,
    revision    INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    finished_at INTEGER
) STRICT;

CREATE TABLE ticket_proofs (
    id       BLOB    NOT NULL PRIMARY KEY,
    mint_url TEXT    NOT NULL,
    unit     TEXT    NOT NULL,
    amount   INTEGER NOT NULL,
    -- JSON (NUT-00), with the DLEQ proof.
    proof    TEXT    NOT NULL,
    -- The job that will spend it.
    job      BLOB
, set_aside INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE user_relays (
    main_key BLOB    NOT NULL PRIMARY KEY,
    relays   TEXT    NOT NULL,
    at       INTEGER NOT NULL
, signer TEXT) STRICT, WITHOUT ROWID;

CREATE INDEX answers_at ON answers (at);

CREATE TRIGGER audit_log_kept BEFORE DELETE ON audit_log
WHEN old.sequence > coalesce((SELECT sequence FROM audit_chain WHERE bound = 'first'), 0) BEGIN
    SELECT RAISE(ABORT, 'entries of the audit log are removed from its beginning only');
END;

CREATE TRIGGER audit_log_unchanged BEFORE UPDATE ON audit_log BEGIN
    SELECT RAISE(ABORT, 'entries of the audit log do not change');
END;

CREATE INDEX correlations_kept ON correlations (until) WHERE until IS NOT NULL;

CREATE INDEX deliveries_queue ON deliveries (queue, idx, due_at) WHERE status = 0;

CREATE INDEX deliveries_settled ON deliveries (last_attempt_at) WHERE status <> 0;

CREATE INDEX deliveries_status ON deliveries (status, stream, idx, due_at);

CREATE INDEX inbound_at ON inbound (at);

CREATE INDEX openid_consents_oldest ON openid_consents (at);

CREATE INDEX openid_consents_oldest_of ON openid_consents (visitor, at);

CREATE TRIGGER openid_records_added AFTER INSERT ON openid_records BEGIN
    INSERT INTO openid_sizes VALUES (NEW.quota, NEW.visitor, NEW.bytes), (NEW.quota, '*', NEW.bytes)
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE INDEX openid_records_expired ON openid_records (expires_at, id);

CREATE INDEX openid_records_grant ON openid_records (grant_id) WHERE grant_id IS NOT NULL;

CREATE INDEX openid_records_oldest_of ON openid_records (quota, visitor, used DESC);

CREATE TRIGGER openid_records_removed AFTER DELETE ON openid_records BEGIN
    UPDATE openid_sizes SET bytes = bytes - OLD.bytes WHERE quota = OLD.quota AND visitor IN (OLD.visitor, '*');
    DELETE FROM openid_sizes WHERE quota = OLD.quota AND visitor = OLD.visitor AND bytes <= 0;
END;

CREATE INDEX openid_records_subject ON openid_records (client_id, subject) WHERE subject IS NOT NULL;

CREATE INDEX openid_sizes_largest ON openid_sizes (quota, bytes);

CREATE INDEX operations_eventless ON operations (kind, finished_at) WHERE finished_at IS NOT NULL AND next_index = 0;

CREATE INDEX operations_finished ON operations (finished_at, id) WHERE finished_at IS NOT NULL;

CREATE INDEX operations_open
    ON operations (id, kind, next_index, wake_at, outbox, correlations, done, watched, at, finished_at)
    WHERE finished_at IS NULL;

CREATE INDEX operations_subscriptions ON operations (id) WHERE kind = 8 AND finished_at IS NULL;

CREATE INDEX passkeys_main_key ON passkeys (main_key);

CREATE INDEX payment_records_changed_at ON payment_records (changed_at);

CREATE INDEX payment_records_created_at ON payment_records (created_at, stream);

CREATE INDEX payment_records_payment_hash ON payment_records (payment_hash) WHERE payment_hash IS NOT NULL;

CREATE INDEX payment_records_reference ON payment_records (reference, created_at, stream) WHERE reference IS NOT NULL;

CREATE INDEX payment_records_refund_of ON payment_records (refund_of) WHERE refund_of IS NOT NULL;

CREATE INDEX payment_records_status ON payment_records (status, created_at, stream) WHERE status IN ('not_paid', 'unknown');

CREATE INDEX ticket_claims_job ON ticket_claims (job);

CREATE INDEX ticket_jobs_finished ON ticket_jobs (finished_at, id) WHERE finished_at IS NOT NULL;

CREATE INDEX ticket_jobs_open ON ticket_jobs (id) WHERE finished_at IS NULL;

CREATE INDEX ticket_proofs_free ON ticket_proofs (mint_url, unit, amount, id) WHERE job IS NULL AND set_aside = 0;

CREATE INDEX ticket_proofs_reserved ON ticket_proofs (job) WHERE job IS NOT NULL;

CREATE INDEX ticket_proofs_set_aside ON ticket_proofs (id, mint_url, unit, amount) WHERE set_aside = 1;

CREATE INDEX user_relays_at ON user_relays (at);
