-- The records of the ticket wallet: its jobs, its proofs, and the counters from which secrets are derived (NUT-13).
-- States and proofs are money: whoever can read them can spend it.

CREATE TABLE ticket_jobs (
    id          bytea  NOT NULL PRIMARY KEY,
    revision    bigint NOT NULL,
    state       text   NOT NULL COLLATE "C",
    finished_at bigint
);

-- What a start continues.
CREATE INDEX ticket_jobs_open ON ticket_jobs (id) WHERE finished_at IS NULL;

-- For retention.
CREATE INDEX ticket_jobs_finished ON ticket_jobs (finished_at, id) WHERE finished_at IS NOT NULL;

-- Proofs of others that a job spends, by their points Y.
CREATE TABLE ticket_claims (
    proof bytea NOT NULL PRIMARY KEY,
    job   bytea NOT NULL
);

CREATE INDEX ticket_claims_job ON ticket_claims (job);

-- The wallet's own proofs, by their points Y.
CREATE TABLE ticket_proofs (
    id       bytea  NOT NULL PRIMARY KEY,
    mint_url text   NOT NULL COLLATE "C",
    unit     text   NOT NULL COLLATE "C",
    amount   bigint NOT NULL,
    -- JSON (NUT-00), with the DLEQ proof.
    proof    text   NOT NULL COLLATE "C",
    -- The job that will spend it.
    job      bytea
);

CREATE INDEX ticket_proofs_reserved ON ticket_proofs (job) WHERE job IS NOT NULL;

-- The next unused counter of each keyset.
CREATE TABLE ticket_counters (
    mint_url text   NOT NULL COLLATE "C",
    keyset   text   NOT NULL COLLATE "C",
    next     bigint NOT NULL,
    PRIMARY KEY (mint_url, keyset)
);
