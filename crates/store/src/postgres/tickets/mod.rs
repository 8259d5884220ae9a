//! The ticket wallet's records: jobs, claims, proofs and counters.

mod commit;
mod rows;

use async_trait::async_trait;
use tokio_postgres::Row;
use usher_engine::UnixMillis;
use usher_engine::ports::{
    ProofId, StoreError, StoredProof, StoredTicketJob, TicketBalance, TicketCommit, TicketCommitted, TicketJobId,
    TicketStore,
};

pub(super) use self::rows::job;
use self::rows::{COUNTER, JOB, MAYBE_OF_KEYSET, counter, of_keyset};
use super::failure::PostgresFailure;
use super::query::{list, params};
use super::{PostgresStore, columns, retention};
use crate::codec;

const FREE: &str = "SELECT id, mint_url, unit, amount, proof FROM ticket_proofs
    WHERE job IS NULL AND NOT set_aside AND mint_url = $1 AND unit = $2 ORDER BY amount, id LIMIT $3 OFFSET $4";

const SET_ASIDE: &str = "SELECT id, mint_url, unit, amount, proof FROM ticket_proofs
    WHERE set_aside AND id > $1 ORDER BY id LIMIT $2 OFFSET $3";

/// The sums as texts: they can be greater than a column.
pub(super) const BALANCES: &str = "SELECT mint_url, unit,
        coalesce(sum(amount) FILTER (WHERE NOT set_aside), 0)::text, coalesce(sum(amount) FILTER (WHERE set_aside), 0)::text
    FROM ticket_proofs WHERE ((job IS NULL AND NOT set_aside) OR set_aside) AND amount > 0
    GROUP BY mint_url, unit ORDER BY mint_url, unit";

#[async_trait]
impl TicketStore for PostgresStore {
    async fn commit_tickets(&self, commit: TicketCommit) -> Result<TicketCommitted, StoreError> {
        let reads = commit::reads(&commit);
        self.queue.decision(reads, move |read| commit::decide(&read, &commit)).await
    }

    async fn ticket_job(&self, id: TicketJobId) -> Result<Option<StoredTicketJob>, StoreError> {
        let found = self.read("read a job of the ticket wallet", JOB, params![id.0]).await?;
        Ok(found.rows.first().map(|row| job(row, id)).transpose()?)
    }

    async fn unfinished_ticket_jobs(
        &self,
        after: Option<TicketJobId>,
        limit: usize,
    ) -> Result<Vec<TicketJobId>, StoreError> {
        const UNFINISHED: &str = "SELECT id FROM ticket_jobs
            WHERE finished_at IS NULL AND id > $1 AND octet_length(id) = 32 ORDER BY id LIMIT $2";
        let after = after.as_ref().map_or(&[][..], |id| &id.0[..]);
        let page = params![after, codec::limit(limit)];
        let found = self.read("list the unfinished jobs of the ticket wallet", UNFINISHED, page).await?;
        let ids = found.rows.iter().map(|row| columns::bytes(row, 0).map(TicketJobId));
        Ok(ids.collect::<Result<_, _>>()?)
    }

    async fn proof_claim(&self, proof: ProofId) -> Result<Option<TicketJobId>, StoreError> {
        const CLAIM: &str = "SELECT job FROM ticket_claims WHERE proof = $1";
        let found = self.read("look for a claim of a proof", CLAIM, params![proof.0]).await?;
        Ok(found.rows.first().map(|row| columns::bytes(row, 0).map(TicketJobId)).transpose()?)
    }

    async fn ticket_counter(&self, mint_url: &str, keyset: &str) -> Result<u32, StoreError> {
        const DURING: &str = "read a counter";
        let stored = self.read(DURING, COUNTER, params![mint_url, keyset]).await?;
        let proofs = self.read(DURING, MAYBE_OF_KEYSET, of_keyset(mint_url, keyset)).await?;
        Ok(counter(&stored, &proofs, keyset)?)
    }

    async fn free_proofs(&self, mint_url: &str, unit: &str, limit: usize) -> Result<Vec<StoredProof>, StoreError> {
        self.readable("list free proofs", FREE, params![mint_url, unit], limit, proof).await
    }

    async fn proofs(&self, ids: &[ProofId]) -> Result<Vec<StoredProof>, StoreError> {
        const PROOFS: &str = "SELECT p.id, p.mint_url, p.unit, p.amount, p.proof
            FROM unnest($1::bytea[]) WITH ORDINALITY AS n (id, nth) JOIN ticket_proofs AS p ON p.id = n.id ORDER BY n.nth";
        let found = self.read("read proofs", PROOFS, vec![list(ids.iter().map(|id| id.0))]).await?;
        Ok(found.rows.iter().map(proof).collect::<Result<_, _>>()?)
    }

    async fn ticket_balances(&self) -> Result<Vec<TicketBalance>, StoreError> {
        let sums = self.read("sum up the proofs", BALANCES, params![]).await?;
        // A damaged row is left out.
        Ok(sums.rows.iter().filter_map(|row| balance(row).ok()).collect())
    }

    async fn set_aside_proofs(&self, after: Option<ProofId>, limit: usize) -> Result<Vec<StoredProof>, StoreError> {
        let after = after.as_ref().map_or(&[][..], |id| &id.0[..]);
        self.readable("list the proofs that are set aside", SET_ASIDE, params![after], limit, proof).await
    }

    async fn return_set_aside(&self, ids: &[ProofId]) -> Result<usize, StoreError> {
        const RETURN: &str = "UPDATE ticket_proofs SET set_aside = FALSE WHERE id = ANY($1::bytea[]) AND set_aside";
        self.change("return proofs that were set aside", RETURN, vec![list(ids.iter().map(|id| id.0))]).await
    }

    async fn remove_ticket_jobs(&self, before: UnixMillis, limit: usize) -> Result<usize, StoreError> {
        let bounds = retention::bounds(before, limit);
        self.change("remove finished jobs of the ticket wallet", retention::TICKET_JOBS, bounds).await
    }
}

pub(super) fn proof(row: &Row) -> Result<StoredProof, PostgresFailure> {
    let proof = columns::text(row, 4)?;
    if !codec::is_json(&proof) {
        return Err(PostgresFailure::Unreadable("a proof of the ticket wallet"));
    }
    Ok(StoredProof {
        id: ProofId(columns::bytes(row, 0)?),
        mint_url: columns::text(row, 1)?,
        unit: columns::text(row, 2)?,
        amount: columns::int(row, 3)?,
        proof,
    })
}

pub(super) fn balance(row: &Row) -> Result<TicketBalance, PostgresFailure> {
    let sum = |column| {
        let sum: u128 = columns::get::<&str>(row, column)?.parse().map_err(|_| PostgresFailure::Unreadable("a sum"))?;
        Ok::<_, PostgresFailure>(u64::try_from(sum).unwrap_or(u64::MAX))
    };
    Ok(TicketBalance {
        mint_url: columns::text(row, 0)?,
        unit: columns::text(row, 1)?,
        amount: sum(2)?,
        set_aside: sum(3)?,
    })
}
