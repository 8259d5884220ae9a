//! Rows of the ticket wallet: a job, and the counter of a keyset.

use serde::Deserialize;
use usher_engine::ports::{State, StoredTicketJob, TicketJobId};

use crate::codec::{self, Unreadable};
use crate::row::{Answer, Row};
use crate::statement::{Query, Statement, params};

const JOB: Statement = Statement::new(
    "read a job of the ticket wallet",
    "SELECT revision, state, finished_at FROM ticket_jobs WHERE id = ?1",
);

/// The counter; if it is missing, the proofs that may be of its keyset. Only then, at a keyset's first use, all proofs
/// of the mint are read.
const COUNTER: Statement = Statement::new(
    "read a counter",
    "SELECT next, CAST(NULL AS text) FROM ticket_counters WHERE mint_url = ?1 AND keyset = ?2
     UNION ALL
     SELECT NULL, p.proof
     FROM (SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM ticket_counters WHERE mint_url = ?1 AND keyset = ?2)) AS missing
         CROSS JOIN ticket_proofs AS p
     WHERE p.mint_url = ?1 AND instr(p.proof, ?3) > 0",
);

pub(crate) fn read_job(id: TicketJobId) -> Query {
    JOB.with(params![id.0])
}

/// The job in a row of its revision, state and end.
pub(crate) fn job(row: &Row, id: TicketJobId) -> Result<StoredTicketJob, Unreadable> {
    let revision = row.int(0)?;
    codec::check_revision(revision)?;
    Ok(StoredTicketJob { id, revision, state: State(row.string(1)?), finished_at: row.optional_time(2)? })
}

pub(crate) fn read_counter(mint_url: &str, keyset: &str) -> Query {
    // JSON may escape an unusual text; all proofs of the mint are then read.
    let written = if keyset.bytes().all(|byte| byte.is_ascii_alphanumeric()) { keyset } else { "" };
    COUNTER.with(params![mint_url, keyset, written])
}

pub(crate) fn counter(found: &Answer, keyset: &str) -> Result<u32, Unreadable> {
    #[derive(Deserialize)]
    struct Proof {
        id: String,
    }
    for row in &found.rows {
        let proof = row.text(1).ok().and_then(|proof| serde_json::from_str::<Proof>(proof).ok());
        match (row.optional_int(0)?, proof) {
            (Some(next), _) => return Ok(next),
            // Its row is lost, or its key is damaged: starting from 0 would reuse secrets.
            (None, Some(proof)) if proof.id == keyset => {
                return Err(Unreadable("the counter of a keyset of which proofs are stored"));
            }
            (None, _) => {}
        }
    }
    Ok(0)
}
