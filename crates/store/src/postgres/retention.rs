//! Statements that remove rows whose retention is over.

use usher_engine::UnixMillis;

use super::query::{Param, params};
use crate::codec;

/// Most rows that one call looks at. (In a sum, the largest number there is would not fit a column.)
const MOST: i64 = 1 << 40;

/// The parameters of most of these statements: `before` and `limit`.
pub(super) fn bounds(before: UnixMillis, limit: usize) -> Vec<Param> {
    params![codec::time(before), self::limit(limit)]
}

/// How many rows at most.
pub(super) fn limit(limit: usize) -> i64 {
    codec::limit(limit).min(MOST)
}

/// See [`Store::remove_finished`](usher_engine::ports::Store::remove_finished).
///
/// A finished operation has neither correlation keys nor outgoing messages: its events, their deliveries and its row are all
/// there is. One with a pending delivery stays. A row with an impossible time is damaged, and stays.
pub(super) const FINISHED: &str = "WITH finished AS (
        SELECT id FROM operations
        WHERE finished_at IS NOT NULL AND finished_at >= 0 AND finished_at < $1 AND octet_length(id) = 16
            AND NOT EXISTS (SELECT 1 FROM deliveries WHERE status = 0 AND stream = operations.id)
        ORDER BY finished_at, id LIMIT $2
    ),
    events_of AS (DELETE FROM events USING finished WHERE stream = finished.id),
    deliveries_of AS (DELETE FROM deliveries USING finished WHERE stream = finished.id)
    DELETE FROM operations USING finished WHERE operations.id = finished.id";

/// See [`UserStore::remove_finished_of`](usher_engine::ports::UserStore::remove_finished_of).
pub(super) const FINISHED_OF: &str = "WITH finished AS (
        SELECT id FROM operations
        WHERE id = ANY($1::bytea[]) AND finished_at IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM deliveries WHERE status = 0 AND stream = operations.id)
    ),
    events_of AS (DELETE FROM events USING finished WHERE stream = finished.id),
    deliveries_of AS (DELETE FROM deliveries USING finished WHERE stream = finished.id)
    DELETE FROM operations USING finished WHERE operations.id = finished.id RETURNING operations.id";

/// See [`Store::remove_without_events`](usher_engine::ports::Store::remove_without_events).
pub(super) const WITHOUT_EVENTS: &str =
    "DELETE FROM operations WHERE id = ANY($1::bytea[]) AND finished_at IS NOT NULL AND next_index = 0";

/// See [`Store::remove_eventless`](usher_engine::ports::Store::remove_eventless).
pub(super) const EVENTLESS: &str = "DELETE FROM operations WHERE id IN (
    SELECT id FROM operations
    WHERE finished_at IS NOT NULL AND next_index = 0 AND kind = $3 AND finished_at >= 0 AND finished_at < $1
    ORDER BY finished_at LIMIT $2)";

/// See [`Store::remove_events`](usher_engine::ports::Store::remove_events): of stream `$1`, before `$2`, at most `$3`.
///
/// However long the stream, it reads and removes no more rows than that.
pub(super) const EVENTS: &str = "WITH bounds AS (
        SELECT o.next_index - 1 AS newest, (SELECT min(idx) FROM events WHERE stream = $1) AS first
        FROM operations AS o WHERE o.id = $1 AND o.finished_at IS NULL
    ),
    part AS (SELECT first, least(newest, first + $3::bigint) AS stop FROM bounds WHERE first IS NOT NULL),
    stays AS (
        SELECT least(
            (SELECT min(idx) FROM deliveries WHERE stream = $1 AND idx >= part.first AND idx < part.stop),
            (SELECT min(idx) FROM events WHERE stream = $1 AND idx >= part.first AND idx < part.stop AND at >= $2)
        ) AS idx FROM part
    )
    DELETE FROM events USING part, stays
    WHERE stream = $1 AND events.idx >= part.first AND events.idx < coalesce(stays.idx, part.stop)";

/// See [`Store::forget_inbound`](usher_engine::ports::Store::forget_inbound).
pub(super) const INBOUND: &str =
    "DELETE FROM inbound WHERE id IN (SELECT id FROM inbound WHERE at < $1 ORDER BY at, id LIMIT $2)";

/// See [`Store::forget_kept_keys`](usher_engine::ports::Store::forget_kept_keys).
pub(super) const KEPT_KEYS: &str = "DELETE FROM correlations WHERE key IN (
    SELECT key FROM correlations WHERE until IS NOT NULL AND until < $1 ORDER BY until, key LIMIT $2)";

/// See [`Store::forget_user_relays`](usher_engine::ports::Store::forget_user_relays).
pub(super) const USERS: &str = "DELETE FROM user_relays WHERE main_key IN (
    SELECT main_key FROM user_relays WHERE at < $1 ORDER BY at, main_key LIMIT $2)";

/// See [`IdempotencyStore::remove_idempotency_records`](usher_engine::ports::IdempotencyStore::remove_idempotency_records).
pub(super) const RECORDS: &str =
    "DELETE FROM answers WHERE key IN (SELECT key FROM answers WHERE at < $1 ORDER BY at, key LIMIT $2)";

/// See [`DeliveryStore::forget_deliveries`](usher_engine::ports::DeliveryStore::forget_deliveries).
pub(super) const DELIVERIES: &str = "DELETE FROM deliveries WHERE (stream, idx) IN (
    SELECT stream, idx FROM deliveries WHERE status <> 0 AND last_attempt_at >= 0 AND last_attempt_at < $1
    ORDER BY last_attempt_at, stream, idx LIMIT $2)";

/// See [`TicketStore::remove_ticket_jobs`](usher_engine::ports::TicketStore::remove_ticket_jobs): none that still has proofs
/// reserved, because no job would own them.
pub(super) const TICKET_JOBS: &str = "WITH finished AS (
        SELECT id FROM ticket_jobs
        WHERE finished_at IS NOT NULL AND finished_at >= 0 AND finished_at < $1 AND octet_length(id) = 32
            AND NOT EXISTS (SELECT 1 FROM ticket_proofs WHERE job IS NOT NULL AND job = ticket_jobs.id)
        ORDER BY finished_at, id LIMIT $2
    ),
    claims AS (DELETE FROM ticket_claims USING finished WHERE job = finished.id)
    DELETE FROM ticket_jobs USING finished WHERE ticket_jobs.id = finished.id";

/// See [`OpenIdStore::remove_openid_records`](usher_engine::ports::OpenIdStore::remove_openid_records).
pub(super) const OPENID_RECORDS: &str = "WITH removed AS (
        DELETE FROM openid_records WHERE id IN
            (SELECT id FROM openid_records WHERE expires_at < $1 ORDER BY expires_at, id LIMIT $2)
        RETURNING id, expires_at, data
    ) SELECT data FROM removed ORDER BY expires_at, id";
