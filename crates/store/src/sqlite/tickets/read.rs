//! Reads of the ticket wallet's records.

use rusqlite::{Connection, OptionalExtension as _, Row, Rows, params};
use usher_engine::UnixMillis;
use usher_engine::ports::{ProofId, State, StoredProof, StoredTicketJob, TicketBalance, TicketJobId};

use super::super::failure::{During as _, SqliteFailure};
use crate::codec;

/// What a row holds of a job: `revision`, `state` and `finished_at`, in this order from the first column on.
pub(crate) fn stored_job(
    row: &Row<'_>,
    id: TicketJobId,
    during: &'static str,
) -> Result<StoredTicketJob, SqliteFailure> {
    let revision = row.get(0).during(during)?;
    codec::check_revision(revision)?;
    let finished_at = row.get::<_, Option<u64>>(2).during(during)?.map(UnixMillis);
    Ok(StoredTicketJob { id, revision, state: State(row.get(1).during(during)?), finished_at })
}

/// What a row holds of a proof: `id`, `mint_url`, `unit`, `amount` and `proof`, in this order from the first column on.
pub(crate) fn stored_proof(row: &Row<'_>, during: &'static str) -> Result<StoredProof, SqliteFailure> {
    let proof: String = row.get(4).during(during)?;
    if !codec::is_json(&proof) {
        return Err(SqliteFailure::Unreadable("a proof of the ticket wallet"));
    }
    Ok(StoredProof {
        id: ProofId(row.get(0).during(during)?),
        mint_url: row.get(1).during(during)?,
        unit: row.get(2).during(during)?,
        amount: row.get(3).during(during)?,
        proof,
    })
}

/// See [`TicketStore::ticket_job`](usher_engine::ports::TicketStore::ticket_job).
pub(super) fn job(connection: &Connection, id: TicketJobId) -> Result<Option<StoredTicketJob>, SqliteFailure> {
    const DURING: &str = "read a job of the ticket wallet";
    connection
        .prepare_cached("SELECT revision, state, finished_at FROM ticket_jobs WHERE id = ?1")
        .during(DURING)?
        .query_row([id.0], |row| Ok(stored_job(row, id, DURING)))
        .optional()
        .during(DURING)?
        .transpose()
}

/// See [`TicketStore::unfinished_ticket_jobs`](usher_engine::ports::TicketStore::unfinished_ticket_jobs).
pub(super) fn unfinished(
    connection: &Connection,
    after: Option<TicketJobId>,
    limit: usize,
) -> Result<Vec<TicketJobId>, SqliteFailure> {
    let after = after.as_ref().map_or(&[][..], |id| &id.0[..]);
    connection
        .prepare_cached(
            "SELECT id FROM ticket_jobs INDEXED BY ticket_jobs_open
             WHERE finished_at IS NULL AND id > ?1 AND length(id) = 32 ORDER BY id LIMIT ?2",
        )
        .and_then(|mut statement| {
            let ids = statement.query_map(params![after, codec::limit(limit)], |row| row.get(0).map(TicketJobId))?;
            ids.collect()
        })
        .during("list the unfinished jobs of the ticket wallet")
}

/// See [`TicketStore::proof_claim`](usher_engine::ports::TicketStore::proof_claim).
pub(super) fn claim(connection: &Connection, proof: ProofId) -> Result<Option<TicketJobId>, SqliteFailure> {
    connection
        .prepare_cached("SELECT job FROM ticket_claims WHERE proof = ?1")
        .and_then(|mut statement| statement.query_row([proof.0], |row| row.get(0).map(TicketJobId)).optional())
        .during("look for a claim of a proof")
}

/// See [`TicketStore::ticket_counter`](usher_engine::ports::TicketStore::ticket_counter).
pub(super) fn counter(connection: &Connection, mint_url: &str, keyset: &str) -> Result<u32, SqliteFailure> {
    let stored = connection
        .prepare_cached("SELECT next FROM ticket_counters WHERE mint_url = ?1 AND keyset = ?2")
        .and_then(|mut statement| statement.query_row([mint_url, keyset], |row| row.get(0)).optional())
        .during("read a counter")?;
    match stored {
        Some(next) => Ok(next),
        // Its row is lost, or its key is damaged: from 0 on the same secrets would be used again.
        None if has_proof_of(connection, mint_url, keyset)? => {
            Err(SqliteFailure::Unreadable("the counter of a keyset of which proofs are stored"))
        }
        None => Ok(0),
    }
}

/// Whether a proof of this keyset is stored. Looks at all proofs of the mint: only for a keyset's first use.
fn has_proof_of(connection: &Connection, mint_url: &str, keyset: &str) -> Result<bool, SqliteFailure> {
    connection
        .prepare_cached(
            "SELECT 1 FROM ticket_proofs
             WHERE mint_url = ?1 AND CASE WHEN json_valid(proof) THEN json_extract(proof, '$.id') = ?2 ELSE FALSE END",
        )
        .and_then(|mut statement| statement.exists([mint_url, keyset]))
        .during("look for a proof of a keyset")
}

/// See [`TicketStore::free_proofs`](usher_engine::ports::TicketStore::free_proofs).
pub(super) fn free_proofs(
    connection: &Connection,
    mint_url: &str,
    unit: &str,
    limit: usize,
) -> Result<Vec<StoredProof>, SqliteFailure> {
    const DURING: &str = "list free proofs";
    let mut statement = connection
        .prepare_cached(
            "SELECT id, mint_url, unit, amount, proof FROM ticket_proofs INDEXED BY ticket_proofs_free
             WHERE job IS NULL AND set_aside = 0 AND mint_url = ?1 AND unit = ?2 ORDER BY amount, id",
        )
        .during(DURING)?;
    let rows = statement.query([mint_url, unit]).during(DURING)?;
    readable(rows, limit, DURING)
}

/// See [`TicketStore::set_aside_proofs`](usher_engine::ports::TicketStore::set_aside_proofs).
pub(super) fn set_aside(
    connection: &Connection,
    after: Option<ProofId>,
    limit: usize,
) -> Result<Vec<StoredProof>, SqliteFailure> {
    const DURING: &str = "list the proofs that are set aside";
    let after = after.as_ref().map_or(&[][..], |id| &id.0[..]);
    let mut statement = connection
        .prepare_cached(
            "SELECT id, mint_url, unit, amount, proof FROM ticket_proofs INDEXED BY ticket_proofs_set_aside
             WHERE set_aside = 1 AND id > ?1 ORDER BY id",
        )
        .during(DURING)?;
    let rows = statement.query([after]).during(DURING)?;
    readable(rows, limit, DURING)
}

/// The first rows that can be read.
fn readable(mut rows: Rows<'_>, limit: usize, during: &'static str) -> Result<Vec<StoredProof>, SqliteFailure> {
    let mut proofs = Vec::new();
    while proofs.len() < limit
        && let Some(row) = rows.next().during(during)?
    {
        match stored_proof(row, during) {
            Ok(proof) => proofs.push(proof),
            // It cannot be spent; the check of all rows reports it. The others can.
            Err(SqliteFailure::Unreadable(_)) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(proofs)
}

/// See [`TicketStore::proofs`](usher_engine::ports::TicketStore::proofs).
pub(super) fn proofs(connection: &Connection, ids: &[ProofId]) -> Result<Vec<StoredProof>, SqliteFailure> {
    const DURING: &str = "read a proof";
    let mut statement = connection
        .prepare_cached("SELECT id, mint_url, unit, amount, proof FROM ticket_proofs WHERE id = ?1")
        .during(DURING)?;
    let mut proofs = Vec::new();
    for id in ids {
        let found = statement.query_row([id.0], |row| Ok(stored_proof(row, DURING))).optional().during(DURING)?;
        proofs.extend(found.transpose()?);
    }
    Ok(proofs)
}

/// See [`TicketStore::ticket_balances`](usher_engine::ports::TicketStore::ticket_balances).
///
/// The sum of two halves cannot overflow, however large the amounts are that a mint signs.
pub(in crate::sqlite) fn balances(connection: &Connection) -> Result<Vec<TicketBalance>, SqliteFailure> {
    const DURING: &str = "sum up the proofs";
    let mut statement = connection
        .prepare_cached(
            "SELECT mint_url, unit, sum(high), sum(low), sum(high_aside), sum(low_aside) FROM (
                 SELECT mint_url, unit, amount >> 32 AS high, amount & 4294967295 AS low, 0 AS high_aside, 0 AS low_aside
                 FROM ticket_proofs INDEXED BY ticket_proofs_free WHERE job IS NULL AND set_aside = 0 AND amount > 0
                 UNION ALL
                 SELECT mint_url, unit, 0, 0, amount >> 32, amount & 4294967295
                 FROM ticket_proofs INDEXED BY ticket_proofs_set_aside WHERE set_aside = 1 AND amount > 0
             ) GROUP BY mint_url, unit ORDER BY mint_url, unit",
        )
        .during(DURING)?;
    let mut rows = statement.query([]).during(DURING)?;
    let mut balances = Vec::new();
    while let Some(row) = rows.next().during(DURING)? {
        match balance(row, DURING) {
            Ok(balance) => balances.push(balance),
            // Of a damaged row, which `usher doctor` lists.
            Err(SqliteFailure::Unreadable(_)) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(balances)
}

fn balance(row: &Row<'_>, during: &'static str) -> Result<TicketBalance, SqliteFailure> {
    let sum = |high, low| {
        let (high, low): (u64, u64) = (row.get(high).during(during)?, row.get(low).during(during)?);
        Ok::<_, SqliteFailure>(u64::try_from((u128::from(high) << 32) + u128::from(low)).unwrap_or(u64::MAX))
    };
    Ok(TicketBalance {
        mint_url: row.get(0).during(during)?,
        unit: row.get(1).during(during)?,
        amount: sum(2, 3)?,
        set_aside: sum(4, 5)?,
    })
}
