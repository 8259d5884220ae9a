//! One step of a job of the ticket wallet: what it depends on, then every condition, then what is written.

use std::collections::{HashMap, HashSet};

use usher_engine::ports::{ProofId, StoredProof, TicketCommit, TicketCommitted, TicketConflict, TicketJobId};

use super::super::columns;
use super::super::failure::PostgresFailure;
use super::super::query::{Answer, Param, Query, list, params};
use super::rows::{self, COUNTER, JOB, MAYBE_OF_KEYSET};
use crate::codec;

const CLAIMS: &str = "SELECT proof, job FROM ticket_claims WHERE proof = ANY($1::bytea[])";

const PROOFS: &str = "SELECT id, job, set_aside FROM ticket_proofs WHERE id = ANY($1::bytea[])";

/// The queries whose answers [`decide`] takes.
pub(super) fn reads(commit: &TicketCommit) -> Vec<Query> {
    const DURING: &str = "read what a step of the ticket wallet depends on";
    let proofs = commit.set_aside.iter().chain(&commit.reserve).chain(commit.add.iter().map(|proof| &proof.id));
    let mut queries = vec![
        Query::new(DURING, JOB, params![commit.job.0]),
        Query::new(DURING, CLAIMS, vec![list(commit.claims.iter().map(|claim| claim.0))]),
        Query::new(DURING, PROOFS, vec![list(proofs.map(|id| id.0))]),
    ];
    if let Some(advance) = &commit.counter {
        let (mint_url, keyset) = (&*advance.mint_url, &*advance.keyset);
        queries.push(Query::new(DURING, COUNTER, params![mint_url, keyset]));
        queries.push(Query::new(DURING, MAYBE_OF_KEYSET, rows::of_keyset(mint_url, keyset)));
    }
    queries
}

/// What came of the step, and what is to be written: nothing after a conflict.
pub(super) fn decide(read: &[Answer], commit: &TicketCommit) -> Result<(TicketCommitted, Vec<Query>), PostgresFailure> {
    if let Some(conflict) = conflict(read, commit)? {
        return Ok((TicketCommitted::Conflict(conflict), Vec::new()));
    }
    Ok((TicketCommitted::Done(commit.expected.saturating_add(1)), writes(commit)))
}

/// What a row says of a proof.
struct Proof {
    job: Option<[u8; 32]>,
    set_aside: bool,
}

fn conflict(read: &[Answer], commit: &TicketCommit) -> Result<Option<TicketConflict>, PostgresFailure> {
    let [job, claims, proofs, counter @ ..] = read else {
        return Err(PostgresFailure::Unreadable("what a step depends on"));
    };
    // A row that is there and cannot be read is an error, never a missing one.
    let stored = job.rows.first().map(|row| rows::job(row, commit.job)).transpose()?;
    if stored.map_or(0, |job| job.revision) != commit.expected {
        return Ok(Some(TicketConflict::Revision));
    }
    if let (Some(advance), [stored, proofs]) = (&commit.counter, counter)
        && (rows::counter(stored, proofs, &advance.keyset)? != advance.from || advance.to < advance.from)
    {
        return Ok(Some(TicketConflict::Counter));
    }
    let mut owners = HashMap::new();
    for row in &claims.rows {
        owners.insert(ProofId(columns::bytes(row, 0)?), TicketJobId(columns::bytes(row, 1)?));
    }
    let taken = commit.claims.iter().filter_map(|claim| owners.get(claim)).find(|owner| **owner != commit.job);
    if let Some(owner) = taken {
        return Ok(Some(TicketConflict::Claimed(*owner)));
    }
    let mut found = HashMap::new();
    for row in &proofs.rows {
        let proof = Proof { job: columns::optional_bytes(row, 1)?, set_aside: columns::get(row, 2)? };
        found.insert(ProofId(columns::bytes(row, 0)?), proof);
    }
    let mut seen = HashSet::new();
    let is_reserved = |id| found.get(id).is_some_and(|proof: &Proof| proof.job == Some(commit.job.0));
    let is_free = |id| found.get(id).is_some_and(|proof: &Proof| proof.job.is_none() && !proof.set_aside);
    let is_good = commit.set_aside.iter().all(|id| seen.insert(*id) && is_reserved(id))
        && commit.reserve.iter().all(|id| seen.insert(*id) && is_free(id))
        && commit.add.iter().all(|proof| seen.insert(proof.id) && !found.contains_key(&proof.id));
    if !is_good {
        return Ok(Some(TicketConflict::Proof));
    }
    let is_too_large = |proof: &StoredProof| codec::amount(proof.amount).is_none();
    Ok(commit.add.iter().any(is_too_large).then_some(TicketConflict::Amount))
}

fn writes(commit: &TicketCommit) -> Vec<Query> {
    let job = commit.job.0;
    let mut writes = Vec::new();
    if commit.release_claims {
        const RELEASE: &str = "DELETE FROM ticket_claims WHERE job = $1";
        writes.push(Query::new("give up claims of proofs", RELEASE, params![job]));
    }
    if !commit.claims.is_empty() {
        // Claiming a proof again is not a change.
        const CLAIM: &str =
            "INSERT INTO ticket_claims (proof, job) SELECT proof, $2::bytea FROM unnest($1::bytea[]) AS n (proof)
            ON CONFLICT (proof) DO NOTHING";
        let claims = list(commit.claims.iter().map(|claim| claim.0));
        writes.push(Query::new("claim proofs", CLAIM, params![claims, job]));
    }
    if let Some(advance) = &commit.counter {
        const ADVANCE: &str = "WITH changed AS (
                INSERT INTO ticket_counters (mint_url, keyset, next) VALUES ($1, $2, $4)
                ON CONFLICT (mint_url, keyset) DO UPDATE SET next = excluded.next WHERE ticket_counters.next = $3
                RETURNING 1
            ) SELECT expect_rows((SELECT count(*) FROM changed), 1)";
        let columns = params![&*advance.mint_url, &*advance.keyset, advance.from, advance.to];
        writes.push(Query::new("advance a counter", ADVANCE, columns));
    }
    if !commit.set_aside.is_empty() {
        const SET_ASIDE: &str = "WITH changed AS (
                UPDATE ticket_proofs SET job = NULL, set_aside = TRUE WHERE id = ANY($1::bytea[]) AND job = $2 RETURNING 1
            ) SELECT expect_rows((SELECT count(*) FROM changed), $3::bigint)";
        writes.push(Query::new("set proofs aside", SET_ASIDE, of_proofs(&commit.set_aside, job)));
    }
    if commit.remove_reserved {
        const REMOVE: &str = "DELETE FROM ticket_proofs WHERE job IS NOT NULL AND job = $1";
        writes.push(Query::new("remove reserved proofs", REMOVE, params![job]));
    } else if commit.release_reserved {
        const RELEASE: &str = "UPDATE ticket_proofs SET job = NULL WHERE job IS NOT NULL AND job = $1";
        writes.push(Query::new("release reserved proofs", RELEASE, params![job]));
    }
    if !commit.reserve.is_empty() {
        const RESERVE: &str = "WITH changed AS (
                UPDATE ticket_proofs SET job = $2 WHERE id = ANY($1::bytea[]) AND job IS NULL AND NOT set_aside RETURNING 1
            ) SELECT expect_rows((SELECT count(*) FROM changed), $3::bigint)";
        writes.push(Query::new("reserve proofs", RESERVE, of_proofs(&commit.reserve, job)));
    }
    if !commit.add.is_empty() {
        writes.push(add(&commit.add));
    }
    writes.push(put_job(commit));
    writes
}

fn of_proofs(ids: &[ProofId], job: [u8; 32]) -> Vec<Param> {
    params![list(ids.iter().map(|id| id.0)), job, codec::limit(ids.len())]
}

fn add(proofs: &[StoredProof]) -> Query {
    const ADD: &str = "INSERT INTO ticket_proofs (id, mint_url, unit, amount, proof)
        SELECT * FROM unnest($1::bytea[], $2::text[], $3::text[], $4::bigint[], $5::text[])";
    let columns = vec![
        list(proofs.iter().map(|proof| proof.id.0)),
        list(proofs.iter().map(|proof| &*proof.mint_url)),
        list(proofs.iter().map(|proof| &*proof.unit)),
        // None is too large: that would have been a conflict.
        list(proofs.iter().map(|proof| codec::amount(proof.amount))),
        list(proofs.iter().map(|proof| &*proof.proof)),
    ];
    Query::new("add proofs", ADD, columns)
}

fn put_job(commit: &TicketCommit) -> Query {
    const DURING: &str = "store a job of the ticket wallet";
    const INSERT: &str = "INSERT INTO ticket_jobs (id, revision, state, finished_at) VALUES ($1, $2, $3, $4)";
    const UPDATE: &str = "WITH changed AS (
            UPDATE ticket_jobs SET revision = $2, state = $3, finished_at = $4 WHERE id = $1 AND revision = $2::bigint - 1 RETURNING 1
        ) SELECT expect_rows((SELECT count(*) FROM changed), 1)";
    let finished_at = commit.finished.then(|| codec::time(commit.at));
    let revision = codec::integer(commit.expected.saturating_add(1));
    let columns = params![commit.job.0, revision, &*commit.state.0, finished_at];
    Query::new(DURING, if commit.expected == 0 { INSERT } else { UPDATE }, columns)
}
