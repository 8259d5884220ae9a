-- The records of the ticket wallet: its jobs, its proofs, and the counters from which secrets are derived (NUT-13).
-- States and proofs are money: whoever can read them can spend it.

-- A rowid table: see `operations`.
CREATE TABLE ticket_jobs (
    id          BLOB    NOT NULL PRIMARY KEY,
    revision    INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    finished_at INTEGER
) STRICT;

-- What a start continues.
CREATE INDEX ticket_jobs_open ON ticket_jobs (id) WHERE finished_at IS NULL;

-- For retention.
CREATE INDEX ticket_jobs_finished ON ticket_jobs (finished_at, id) WHERE finished_at IS NOT NULL;

-- Proofs of others that a job spends, by their points Y.
CREATE TABLE ticket_claims (
    proof BLOB NOT NULL PRIMARY KEY,
    job   BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX ticket_claims_job ON ticket_claims (job);

-- The wallet's own proofs, by their points Y. A rowid table: see `operations`.
CREATE TABLE ticket_proofs (
    id       BLOB    NOT NULL PRIMARY KEY,
    mint_url TEXT    NOT NULL,
    unit     TEXT    NOT NULL,
    amount   INTEGER NOT NULL,
    -- JSON (NUT-00), with the DLEQ proof.
    proof    TEXT    NOT NULL,
    -- The job that will spend it.
    job      BLOB
) STRICT;

-- Balances, and the smallest first.
CREATE INDEX ticket_proofs_free ON ticket_proofs (mint_url, unit, amount, id) WHERE job IS NULL;

CREATE INDEX ticket_proofs_reserved ON ticket_proofs (job) WHERE job IS NOT NULL;

-- The next unused counter of each keyset.
CREATE TABLE ticket_counters (
    mint_url TEXT    NOT NULL,
    keyset   TEXT    NOT NULL,
    next     INTEGER NOT NULL,
    PRIMARY KEY (mint_url, keyset)
) STRICT, WITHOUT ROWID;
