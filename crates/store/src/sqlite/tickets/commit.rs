//! One step of a job of the ticket wallet, inside the writer's transaction: first every condition, then every write.

use std::collections::HashSet;

use rusqlite::{Connection, params};
use usher_engine::ports::{
    CounterAdvance, ProofId, StoredProof, TicketCommit, TicketCommitted, TicketConflict, TicketJobId,
};

use super::super::failure::{During as _, SqliteFailure};
use super::read;
use crate::codec;

/// Applies the step, or says what it conflicts with and changes nothing.
pub(super) fn apply(connection: &Connection, commit: &TicketCommit) -> Result<TicketCommitted, SqliteFailure> {
    if let Some(conflict) = conflict(connection, commit)? {
        return Ok(TicketCommitted::Conflict(conflict));
    }
    write(connection, commit)?;
    Ok(TicketCommitted::Done(commit.expected.saturating_add(1)))
}

fn conflict(connection: &Connection, commit: &TicketCommit) -> Result<Option<TicketConflict>, SqliteFailure> {
    // A row that is there and cannot be read is an error, never a missing one.
    let revision = read::job(connection, commit.job)?.map_or(0, |job| job.revision);
    if revision != commit.expected {
        return Ok(Some(TicketConflict::Revision));
    }
    if let Some(advance) = &commit.counter
        && (read::counter(connection, &advance.mint_url, &advance.keyset)? != advance.from || advance.to < advance.from)
    {
        return Ok(Some(TicketConflict::Counter));
    }
    for claim in &commit.claims {
        if let Some(job) = read::claim(connection, *claim)?
            && job != commit.job
        {
            return Ok(Some(TicketConflict::Claimed(job)));
        }
    }
    let mut seen = HashSet::new();
    for id in &commit.set_aside {
        if !seen.insert(*id) || !is_reserved_by(connection, *id, commit.job)? {
            return Ok(Some(TicketConflict::Proof));
        }
    }
    for id in &commit.reserve {
        if !seen.insert(*id) || !is_free(connection, *id)? {
            return Ok(Some(TicketConflict::Proof));
        }
    }
    for proof in &commit.add {
        if !seen.insert(proof.id) || is_stored(connection, proof.id)? {
            return Ok(Some(TicketConflict::Proof));
        }
    }
    let is_too_large = |proof: &StoredProof| codec::amount(proof.amount).is_none();
    Ok(commit.add.iter().any(is_too_large).then_some(TicketConflict::Amount))
}

fn is_free(connection: &Connection, id: ProofId) -> Result<bool, SqliteFailure> {
    connection
        .prepare_cached("SELECT 1 FROM ticket_proofs WHERE id = ?1 AND job IS NULL AND set_aside = 0")
        .and_then(|mut statement| statement.exists([id.0]))
        .during("look for a free proof")
}

fn is_reserved_by(connection: &Connection, id: ProofId, job: TicketJobId) -> Result<bool, SqliteFailure> {
    connection
        .prepare_cached("SELECT 1 FROM ticket_proofs WHERE id = ?1 AND job = ?2")
        .and_then(|mut statement| statement.exists(params![id.0, job.0]))
        .during("look for a reserved proof")
}

fn is_stored(connection: &Connection, id: ProofId) -> Result<bool, SqliteFailure> {
    connection
        .prepare_cached("SELECT 1 FROM ticket_proofs WHERE id = ?1")
        .and_then(|mut statement| statement.exists([id.0]))
        .during("look for a proof")
}

fn write(connection: &Connection, commit: &TicketCommit) -> Result<(), SqliteFailure> {
    let job = commit.job.0;
    if commit.release_claims {
        execute(connection, "DELETE FROM ticket_claims WHERE job = ?1", params![job], "give up claims of proofs")?;
    }
    for claim in &commit.claims {
        // Claiming a proof again is not a change.
        const CLAIM: &str = "INSERT INTO ticket_claims (proof, job) VALUES (?1, ?2) ON CONFLICT (proof) DO NOTHING";
        execute(connection, CLAIM, params![claim.0, job], "claim a proof")?;
    }
    if let Some(advance) = &commit.counter {
        advance_counter(connection, advance)?;
    }
    for id in &commit.set_aside {
        const SET_ASIDE: &str = "UPDATE ticket_proofs SET job = NULL, set_aside = 1 WHERE id = ?1 AND job = ?2";
        let changed = execute(connection, SET_ASIDE, params![id.0, job], "set a proof aside")?;
        SqliteFailure::unless_one("set a proof aside", changed)?;
    }
    if commit.remove_reserved {
        const REMOVE: &str = "DELETE FROM ticket_proofs WHERE job IS NOT NULL AND job = ?1";
        execute(connection, REMOVE, params![job], "remove reserved proofs")?;
    } else if commit.release_reserved {
        const RELEASE: &str = "UPDATE ticket_proofs SET job = NULL WHERE job IS NOT NULL AND job = ?1";
        execute(connection, RELEASE, params![job], "release reserved proofs")?;
    }
    for id in &commit.reserve {
        const RESERVE: &str = "UPDATE ticket_proofs SET job = ?2 WHERE id = ?1 AND job IS NULL AND set_aside = 0";
        let changed = execute(connection, RESERVE, params![id.0, job], "reserve a proof")?;
        SqliteFailure::unless_one("reserve a proof", changed)?;
    }
    for proof in &commit.add {
        add(connection, proof)?;
    }
    put_job(connection, commit)
}

/// See [`TicketStore::return_set_aside`](usher_engine::ports::TicketStore::return_set_aside).
pub(super) fn return_set_aside(connection: &Connection, ids: &[ProofId]) -> Result<usize, SqliteFailure> {
    const RETURN: &str = "UPDATE ticket_proofs SET set_aside = 0 WHERE id = ?1 AND set_aside = 1";
    let mut returned = 0;
    for id in ids {
        returned += execute(connection, RETURN, params![id.0], "return a proof that was set aside")?;
    }
    Ok(returned)
}

fn advance_counter(connection: &Connection, advance: &CounterAdvance) -> Result<(), SqliteFailure> {
    const DURING: &str = "advance a counter";
    const ADVANCE: &str = "INSERT INTO ticket_counters (mint_url, keyset, next) VALUES (?1, ?2, ?4)
        ON CONFLICT (mint_url, keyset) DO UPDATE SET next = excluded.next WHERE next = ?3";
    let CounterAdvance { mint_url, keyset, from, to } = advance;
    let changed = execute(connection, ADVANCE, params![mint_url, keyset, from, to], DURING)?;
    SqliteFailure::unless_one(DURING, changed)
}

fn add(connection: &Connection, proof: &StoredProof) -> Result<(), SqliteFailure> {
    const ADD: &str = "INSERT INTO ticket_proofs (id, mint_url, unit, amount, proof) VALUES (?1, ?2, ?3, ?4, ?5)";
    let amount = codec::amount(proof.amount).ok_or(SqliteFailure::Unreadable("the amount of a new proof"))?;
    execute(connection, ADD, params![proof.id.0, proof.mint_url, proof.unit, amount, proof.proof], "add a proof")
        .map(|_| ())
}

fn put_job(connection: &Connection, commit: &TicketCommit) -> Result<(), SqliteFailure> {
    const DURING: &str = "store a job of the ticket wallet";
    let finished_at = commit.finished.then(|| codec::time(commit.at));
    let revision = codec::integer(commit.expected.saturating_add(1));
    let changed = if commit.expected == 0 {
        const INSERT: &str = "INSERT INTO ticket_jobs (id, revision, state, finished_at) VALUES (?1, ?2, ?3, ?4)";
        execute(connection, INSERT, params![commit.job.0, revision, commit.state.0, finished_at], DURING)?
    } else {
        const UPDATE: &str =
            "UPDATE ticket_jobs SET revision = ?2, state = ?3, finished_at = ?4 WHERE id = ?1 AND revision = ?2 - 1";
        execute(connection, UPDATE, params![commit.job.0, revision, commit.state.0, finished_at], DURING)?
    };
    SqliteFailure::unless_one(DURING, changed)
}

fn execute(
    connection: &Connection,
    sql: &str,
    parameters: impl rusqlite::Params,
    during: &'static str,
) -> Result<usize, SqliteFailure> {
    connection.prepare_cached(sql).and_then(|mut statement| statement.execute(parameters)).during(during)
}
