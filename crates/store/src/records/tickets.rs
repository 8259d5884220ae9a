//! The ticket wallet's records: jobs, claims, proofs and counters.

use std::collections::HashMap;

use async_trait::async_trait;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    ProofId, StoreError, StoredProof, StoredTicketJob, TicketBalance, TicketCommit, TicketCommitted, TicketJobId,
    TicketStore,
};

use super::ticket_commit;
use super::ticket_rows::{counter, job, read_counter, read_job};
use crate::codec::{self, Unreadable};
use crate::engine::{Engine, SqlStore, bounds};
use crate::row::{Answer, Row};
use crate::statement::{Query, Statement, params};

const UNFINISHED: Statement = Statement::new(
    "list the unfinished jobs of the ticket wallet",
    "SELECT id FROM ticket_jobs INDEXED BY ticket_jobs_open
     WHERE finished_at IS NULL AND id > ?1 AND length(id) = 32 ORDER BY id LIMIT ?2",
);

const CLAIM: Statement =
    Statement::new("look for a claim of a proof", "SELECT job FROM ticket_claims WHERE proof = ?1");

/// SQLite uses the index only for the comparison with which it was created; in PostgreSQL the column is a boolean.
const FREE: Statement = Statement::new(
    "list free proofs",
    "SELECT id, mint_url, unit, amount, proof FROM ticket_proofs INDEXED BY ticket_proofs_free
     WHERE job IS NULL AND set_aside = 0 AND mint_url = ?1 AND unit = ?2 ORDER BY amount, id LIMIT ?3 OFFSET ?4",
)
.postgres(
    "SELECT id, mint_url, unit, amount, proof FROM ticket_proofs
     WHERE job IS NULL AND NOT set_aside AND mint_url = ?1 AND unit = ?2 ORDER BY amount, id LIMIT ?3 OFFSET ?4",
);

/// As [`FREE`].
const SET_ASIDE: Statement = Statement::new(
    "list the proofs that are set aside",
    "SELECT id, mint_url, unit, amount, proof FROM ticket_proofs INDEXED BY ticket_proofs_set_aside
     WHERE set_aside = 1 AND id > ?1 ORDER BY id LIMIT ?2 OFFSET ?3",
)
.postgres(
    "SELECT id, mint_url, unit, amount, proof FROM ticket_proofs WHERE set_aside AND id > ?1
     ORDER BY id LIMIT ?2 OFFSET ?3",
);

const PROOFS: Statement =
    Statement::new("read proofs", "SELECT id, mint_url, unit, amount, proof FROM ticket_proofs WHERE id = ?1");

/// The sum of two halves cannot overflow, however large the amounts that a mint signs. SQLite reads two indexes;
/// PostgreSQL's comparisons are those of [`FREE`].
const BALANCES: Statement = Statement::new(
    "sum up the proofs",
    "SELECT mint_url, unit, sum(high), sum(low), sum(high_aside), sum(low_aside) FROM (
         SELECT mint_url, unit, amount >> 32 AS high, amount & 4294967295 AS low, 0 AS high_aside, 0 AS low_aside
         FROM ticket_proofs INDEXED BY ticket_proofs_free WHERE job IS NULL AND set_aside = 0 AND amount > 0
         UNION ALL
         SELECT mint_url, unit, 0, 0, amount >> 32, amount & 4294967295
         FROM ticket_proofs INDEXED BY ticket_proofs_set_aside WHERE set_aside = 1 AND amount > 0
     ) GROUP BY mint_url, unit ORDER BY mint_url, unit",
)
.postgres(
    "SELECT mint_url, unit, CAST(coalesce(sum(amount >> 32) FILTER (WHERE NOT set_aside), 0) AS bigint),
         CAST(coalesce(sum(amount & 4294967295) FILTER (WHERE NOT set_aside), 0) AS bigint),
         CAST(coalesce(sum(amount >> 32) FILTER (WHERE set_aside), 0) AS bigint),
         CAST(coalesce(sum(amount & 4294967295) FILTER (WHERE set_aside), 0) AS bigint)
     FROM ticket_proofs WHERE ((job IS NULL AND NOT set_aside) OR set_aside) AND amount > 0
     GROUP BY mint_url, unit ORDER BY mint_url, unit",
);

const RETURN: Statement = Statement::new(
    "return proofs that were set aside",
    "UPDATE ticket_proofs SET set_aside = FALSE WHERE id = ?1 AND set_aside",
);

/// The finished jobs to remove: none with reserved proofs, which would lose their owner.
macro_rules! finished {
    ($remove:literal) => {
        Statement::new(
            "remove finished jobs of the ticket wallet",
            concat!(
                $remove,
                " IN (
                     SELECT id FROM ticket_jobs INDEXED BY ticket_jobs_finished
                     WHERE finished_at IS NOT NULL AND finished_at >= 0 AND finished_at < ?1 AND length(id) = 32
                         AND NOT EXISTS (SELECT 1 FROM ticket_proofs INDEXED BY ticket_proofs_reserved
                             WHERE job IS NOT NULL AND job = ticket_jobs.id)
                     ORDER BY finished_at, id LIMIT ?2)"
            ),
        )
    };
}

const FINISHED: [Statement; 2] =
    [finished!("DELETE FROM ticket_claims WHERE job"), finished!("DELETE FROM ticket_jobs WHERE id")];

#[async_trait]
impl<E: Engine> TicketStore for SqlStore<E> {
    async fn commit_tickets(&self, commit: TicketCommit) -> Result<TicketCommitted, StoreError> {
        let reads = ticket_commit::reads(&commit);
        self.0.decide(reads, move |read| ticket_commit::decide(read, &commit)).await
    }

    async fn ticket_job(&self, id: TicketJobId) -> Result<Option<StoredTicketJob>, StoreError> {
        self.first(read_job(id), move |row| job(row, id)).await
    }

    async fn unfinished_ticket_jobs(
        &self,
        after: Option<TicketJobId>,
        limit: usize,
    ) -> Result<Vec<TicketJobId>, StoreError> {
        let after = after.as_ref().map_or(&[][..], |id| &id.0[..]);
        let page = params![after, codec::limit(limit)];
        self.all(UNFINISHED.with(page), |row| row.bytes(0).map(TicketJobId)).await
    }

    async fn proof_claim(&self, proof: ProofId) -> Result<Option<TicketJobId>, StoreError> {
        self.first(CLAIM.with(params![proof.0]), |row| row.bytes(0).map(TicketJobId)).await
    }

    async fn ticket_counter(&self, mint_url: &str, keyset: &str) -> Result<u32, StoreError> {
        let query = read_counter(mint_url, keyset);
        let keyset = keyset.to_owned();
        self.answer(query, move |found| Ok(counter(found, &keyset)?)).await
    }

    async fn free_proofs(&self, mint_url: &str, unit: &str, limit: usize) -> Result<Vec<StoredProof>, StoreError> {
        self.readable(FREE, params![mint_url, unit], limit, proof).await
    }

    async fn proofs(&self, ids: &[ProofId]) -> Result<Vec<StoredProof>, StoreError> {
        let found = self.all(PROOFS.each(ids.iter().map(|id| params![id.0])), proof).await?;
        let found: HashMap<_, _> = found.into_iter().map(|proof| (proof.id, proof)).collect();
        Ok(ids.iter().filter_map(|id| found.get(id).cloned()).collect())
    }

    async fn ticket_balances(&self) -> Result<Vec<TicketBalance>, StoreError> {
        self.answer(read_balances(), |found| Ok(balances(found))).await
    }

    async fn set_aside_proofs(&self, after: Option<ProofId>, limit: usize) -> Result<Vec<StoredProof>, StoreError> {
        let after = after.as_ref().map_or(&[][..], |id| &id.0[..]);
        self.readable(SET_ASIDE, params![after], limit, proof).await
    }

    async fn return_set_aside(&self, ids: &[ProofId]) -> Result<usize, StoreError> {
        self.change(RETURN.each(ids.iter().map(|id| params![id.0]))).await
    }

    async fn remove_ticket_jobs(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        self.change_all(FINISHED.map(|statement| statement.with(bounds(before, limit))).into()).await
    }
}

/// The proof in a row of its id, mint, unit, amount and content.
pub(crate) fn proof(row: &Row) -> Result<StoredProof, Unreadable> {
    let proof = row.string(4)?;
    if !codec::is_json(&proof) {
        return Err(Unreadable("a proof of the ticket wallet"));
    }
    Ok(StoredProof {
        id: ProofId(row.bytes(0)?),
        mint_url: row.string(1)?,
        unit: row.string(2)?,
        amount: row.int(3)?,
        proof,
    })
}

pub(crate) fn read_balances() -> Query {
    BALANCES.with(params![])
}

/// The balances without damaged rows, which `usher doctor` lists.
pub(crate) fn balances(found: &Answer) -> Vec<TicketBalance> {
    found.rows.iter().filter_map(|row| balance(row).ok()).collect()
}

fn balance(row: &Row) -> Result<TicketBalance, Unreadable> {
    let sum = |high, low| {
        let (high, low): (u64, u64) = (row.int(high)?, row.int(low)?);
        Ok::<_, Unreadable>(u64::try_from((u128::from(high) << 32) + u128::from(low)).unwrap_or(u64::MAX))
    };
    Ok(TicketBalance { mint_url: row.string(0)?, unit: row.string(1)?, amount: sum(2, 3)?, set_aside: sum(4, 5)? })
}
