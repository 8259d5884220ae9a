//! One step of a job of the ticket wallet: reads, then all conditions, then writes.

use std::collections::{HashMap, HashSet};

use usher_engine::ports::{ProofId, StoredProof, TicketCommit, TicketCommitted, TicketConflict, TicketJobId};

use super::ticket_rows;
use crate::codec::{self, Unreadable};
use crate::row::Answer;
use crate::statement::{Query, Statement, params};

const DURING: &str = "read what a step of the ticket wallet depends on";

const CLAIMS: Statement = Statement::new(DURING, "SELECT proof, job FROM ticket_claims WHERE proof = ?1");

const PROOFS: Statement = Statement::new(DURING, "SELECT id, job, set_aside FROM ticket_proofs WHERE id = ?1");

const RELEASE_CLAIMS: Statement =
    Statement::new("give up claims of proofs", "DELETE FROM ticket_claims WHERE job = ?1");

/// Claiming a proof again is not a change.
const CLAIM: Statement = Statement::new(
    "claim proofs",
    "INSERT INTO ticket_claims (proof, job) VALUES (?1, ?2) ON CONFLICT (proof) DO NOTHING",
);

const ADVANCE: Statement = Statement::new(
    "advance a counter",
    "INSERT INTO ticket_counters (mint_url, keyset, next) VALUES (?1, ?2, ?4)
     ON CONFLICT (mint_url, keyset) DO UPDATE SET next = excluded.next WHERE ticket_counters.next = ?3",
)
.exact();

const SET_ASIDE: Statement = Statement::new(
    "set proofs aside",
    "WITH n (id, job) AS (VALUES (?1, ?2))
     UPDATE ticket_proofs SET job = NULL, set_aside = TRUE FROM n WHERE ticket_proofs.id = n.id AND ticket_proofs.job = n.job",
)
.exact();

const REMOVE_RESERVED: Statement =
    Statement::new("remove reserved proofs", "DELETE FROM ticket_proofs WHERE job IS NOT NULL AND job = ?1");

const RELEASE_RESERVED: Statement =
    Statement::new("release reserved proofs", "UPDATE ticket_proofs SET job = NULL WHERE job IS NOT NULL AND job = ?1");

const RESERVE: Statement = Statement::new(
    "reserve proofs",
    "WITH n (id, job) AS (VALUES (?1, ?2))
     UPDATE ticket_proofs SET job = n.job FROM n
     WHERE ticket_proofs.id = n.id AND ticket_proofs.job IS NULL AND NOT ticket_proofs.set_aside",
)
.exact();

const ADD: Statement = Statement::new(
    "add proofs",
    "INSERT INTO ticket_proofs (id, mint_url, unit, amount, proof) VALUES (?1, ?2, ?3, ?4, ?5)",
);

const INSERT_JOB: Statement = Statement::new(
    "store a job of the ticket wallet",
    "INSERT INTO ticket_jobs (id, revision, state, finished_at) VALUES (?1, ?2, ?3, ?4)",
);

const UPDATE_JOB: Statement = Statement::new(
    "store a job of the ticket wallet",
    "UPDATE ticket_jobs SET revision = ?2, state = ?3, finished_at = ?4 WHERE id = ?1 AND revision + 1 = ?2",
)
.exact();

pub(super) fn reads(commit: &TicketCommit) -> Vec<Query> {
    let proofs = commit.set_aside.iter().chain(&commit.reserve).chain(commit.add.iter().map(|proof| &proof.id));
    let mut queries = vec![
        ticket_rows::read_job(commit.job),
        CLAIMS.each(commit.claims.iter().map(|claim| params![claim.0])),
        PROOFS.each(proofs.map(|id| params![id.0])),
    ];
    queries.extend(commit.counter.iter().map(|advance| ticket_rows::read_counter(&advance.mint_url, &advance.keyset)));
    queries
}

/// The result of the step, and the statements to run: none after a conflict.
pub(super) fn decide(read: &[Answer], commit: &TicketCommit) -> Result<(TicketCommitted, Vec<Query>), Unreadable> {
    if let Some(conflict) = conflict(read, commit)? {
        return Ok((TicketCommitted::Conflict(conflict), Vec::new()));
    }
    Ok((TicketCommitted::Done(commit.expected.saturating_add(1)), writes(commit)))
}

struct Proof {
    job: Option<[u8; 32]>,
    set_aside: bool,
}

fn conflict(read: &[Answer], commit: &TicketCommit) -> Result<Option<TicketConflict>, Unreadable> {
    let [job, claims, proofs, counter @ ..] = read else {
        return Err(Unreadable("what a step depends on"));
    };
    // An unreadable row is an error, never a missing one.
    let stored = job.first(|row| ticket_rows::job(row, commit.job))?;
    if stored.map_or(0, |job| job.revision) != commit.expected {
        return Ok(Some(TicketConflict::Revision));
    }
    if let (Some(advance), [stored]) = (&commit.counter, counter)
        && (ticket_rows::counter(stored, &advance.keyset)? != advance.from || advance.to < advance.from)
    {
        return Ok(Some(TicketConflict::Counter));
    }
    let owners: HashMap<_, _> = claims.all(|row| Ok((ProofId(row.bytes(0)?), TicketJobId(row.bytes(1)?))))?;
    let taken = commit.claims.iter().filter_map(|claim| owners.get(claim)).find(|owner| **owner != commit.job);
    if let Some(owner) = taken {
        return Ok(Some(TicketConflict::Claimed(*owner)));
    }
    let found: HashMap<_, _> = proofs.all(|row| {
        let proof = Proof { job: row.optional_bytes(1)?, set_aside: row.is_true(2)? };
        Ok((ProofId(row.bytes(0)?), proof))
    })?;
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
    let of_job = |id: &ProofId| params![id.0, job];
    let mut writes = Vec::new();
    if commit.release_claims {
        writes.push(RELEASE_CLAIMS.with(params![job]));
    }
    writes.push(CLAIM.each(commit.claims.iter().map(of_job)));
    if let Some(advance) = &commit.counter {
        writes.push(ADVANCE.with(params![&*advance.mint_url, &*advance.keyset, advance.from, advance.to]));
    }
    writes.push(SET_ASIDE.each(commit.set_aside.iter().map(of_job)));
    if commit.remove_reserved {
        writes.push(REMOVE_RESERVED.with(params![job]));
    } else if commit.release_reserved {
        writes.push(RELEASE_RESERVED.with(params![job]));
    }
    writes.push(RESERVE.each(commit.reserve.iter().map(of_job)));
    writes.push(ADD.each(commit.add.iter().map(|proof| {
        // None is too large: that would have been a conflict.
        let amount = codec::amount(proof.amount);
        params![proof.id.0, &*proof.mint_url, &*proof.unit, amount, &*proof.proof]
    })));
    let finished_at = commit.finished.then(|| codec::time(commit.at));
    let revision = codec::integer(commit.expected.saturating_add(1));
    let statement = if commit.expected == 0 { INSERT_JOB } else { UPDATE_JOB };
    writes.push(statement.with(params![job, revision, &*commit.state.0, finished_at]));
    writes
}
