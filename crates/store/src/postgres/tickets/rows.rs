//! Rows of jobs and counters, of which reads and commits need the same.

use serde::Deserialize;
use tokio_postgres::Row;
use usher_engine::ports::{State, StoredTicketJob, TicketJobId};

use super::super::columns;
use super::super::failure::PostgresFailure;
use super::super::query::{Answer, Param, params};
use crate::codec;

pub(super) const JOB: &str = "SELECT revision, state, finished_at FROM ticket_jobs WHERE id = $1";

pub(super) const COUNTER: &str = "SELECT next FROM ticket_counters WHERE mint_url = $1 AND keyset = $2";

/// Proofs that may be of a keyset, unless its counter is stored. Looks at all proofs of the mint: only for a keyset's first use.
pub(super) const MAYBE_OF_KEYSET: &str = "SELECT proof FROM ticket_proofs
    WHERE mint_url = $1 AND strpos(proof, $3) > 0
        AND NOT EXISTS (SELECT 1 FROM ticket_counters WHERE mint_url = $1 AND keyset = $2)";

/// The job in a row of [`JOB`].
pub(in crate::postgres) fn job(row: &Row, id: TicketJobId) -> Result<StoredTicketJob, PostgresFailure> {
    let revision = columns::int(row, 0)?;
    codec::check_revision(revision)?;
    Ok(StoredTicketJob {
        id,
        revision,
        state: State(columns::text(row, 1)?),
        finished_at: columns::optional_time(row, 2)?,
    })
}

/// The parameters of [`MAYBE_OF_KEYSET`].
pub(super) fn of_keyset(mint_url: &str, keyset: &str) -> Vec<Param> {
    // In JSON an unusual text may be written in another way; then all proofs of the mint are looked at.
    let written = if keyset.bytes().all(|byte| byte.is_ascii_alphanumeric()) { keyset } else { "" };
    params![mint_url, keyset, written]
}

/// The next unused counter, from the answers to [`COUNTER`] and [`MAYBE_OF_KEYSET`].
pub(super) fn counter(stored: &Answer, proofs: &Answer, keyset: &str) -> Result<u32, PostgresFailure> {
    #[derive(Deserialize)]
    struct Proof {
        id: String,
    }
    if let Some(row) = stored.rows.first() {
        return columns::int(row, 0);
    }
    for row in &proofs.rows {
        let proof = columns::text(row, 0).ok().and_then(|proof| serde_json::from_str::<Proof>(&proof).ok());
        if proof.is_some_and(|proof| proof.id == keyset) {
            // Its row is lost, or its key is damaged: from 0 on the same secrets would be used again.
            return Err(PostgresFailure::Unreadable("the counter of a keyset of which proofs are stored"));
        }
    }
    Ok(0)
}
