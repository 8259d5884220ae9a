//! Requests that wait for a mint: the bound, and why there is no result.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use serde::Serialize;
use serde_json::Map;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use usher_engine::{Engine, IdempotentRequest, PendingAudit, Requester, TicketCallError};

use crate::audit;
use crate::endpoints::change::Change;
use crate::problem::{ErrorCode, Problem};

/// How long a request that waits for a mint may still take when the service stops.
const GRACE: Duration = Duration::from_secs(3);

impl Change {
    /// Runs `work`, which waits for a mint, to its end, and waits for its result as long as `limits.mint_timeout`. It is a task of
    /// its own beside that of the request: this one ends in time, so that the next request with its `Idempotency-Key` waits for the
    /// same work. The response is what `body` makes of the result.
    ///
    /// When the service stops, `work` has a few seconds left. It is dropped after that: everything that it waits for is stored,
    /// and continues at the next start.
    ///
    /// # Errors
    /// A [`Problem`] of the mint, of the limit, or of the time.
    pub(super) async fn wait_for_mint<T, B, F>(
        self,
        body: impl Fn(&T) -> B + Copy + Send + Sync + 'static,
        work: impl FnOnce(Arc<Engine>, Requester, Option<IdempotentRequest<T>>) -> F,
    ) -> Result<Json<B>, Problem>
    where
        T: Send + 'static,
        B: Serialize,
        F: Future<Output = Result<T, TicketCallError>> + Send + 'static,
    {
        let once = self.once(body);
        let Self { state, requester, .. } = self;
        let place = state.mint_calls.take(requester.origin())?;
        // What is moved to the task is large.
        let work = Box::pin(work(state.engine.clone(), requester, once));
        let begun = state.clone();
        let work = async move {
            audit::begin(&begun).await?;
            let result = tokio::select! {
                biased;
                result = work => result.map_err(Problem::from),
                () = end_of_grace(&begun.stop) => Err(Problem::mint_timeout()),
            };
            drop(place);
            result
        };
        let audit = PendingAudit::current().unwrap_or_default();
        let work = state.tasks.spawn(audit.scope(work).in_current_span());
        match timeout(state.limits.mint_timeout, work).await {
            Ok(ended) => Ok(Json(body(&ended.map_err(Problem::internal)??))),
            Err(_elapsed) => Err(Problem::mint_timeout()),
        }
    }
}

async fn end_of_grace(stop: &CancellationToken) {
    stop.cancelled().await;
    sleep(GRACE).await;
}

impl From<TicketCallError> for Problem {
    fn from(error: TicketCallError) -> Self {
        match error {
            TicketCallError::Start(error) => error.into(),
            TicketCallError::Ticket(error) => error.into(),
            TicketCallError::NotFound => Self::new(
                ErrorCode::StreamNotFound,
                "no ticket was sent with this stream id, or it was removed after its retention",
            ),
            TicketCallError::TokenRequired => Self::new(
                ErrorCode::TokenRequired,
                "wallet.approval_above_millisats or wallet.daily_budget_millisats limits what keys send, and counts no \
                 withdrawals: only the token may withdraw",
            ),
            TicketCallError::ApprovalRequired { payment } => Self::new(
                ErrorCode::ApprovalRequired,
                format!(
                    "the payment of the mint's quote, {payment}, waits for an approval; repeat the request with its \
                     Idempotency-Key once it is approved"
                ),
            )
            .with_members(Map::from_iter([("stream_id".to_owned(), payment.to_string().into())])),
            TicketCallError::NotPaid { reason, is_certain: true } => {
                Self::new(ErrorCode::WalletError, format!("the mint's quote was not paid: {reason}"))
            }
            TicketCallError::NotPaid { reason, is_certain: false } => Self::new(
                ErrorCode::WalletError,
                format!(
                    "the mint's quote may or may not have been paid: {reason}; repeat the request with its \
                     Idempotency-Key to get the token if it was"
                ),
            ),
        }
    }
}
