//! Requests that wait for a mint: the bound, and why there is no result.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use serde_json::Map;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use usher_engine::{RequestContext, TicketCallError};

use crate::ApiState;
use crate::client_places::Full;
use crate::detached_change::{self, TaskLost};
use crate::problem::{ErrorCode, Problem};

/// Why a request that waits for a mint has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Call(#[from] TicketCallError),
    #[error("the mint did not respond in time")]
    TimedOut,
    #[error(transparent)]
    Lost(#[from] TaskLost),
    #[error(transparent)]
    Full(#[from] Full),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let problem: Problem = match self {
            Self::Call(error) => error.into(),
            Self::TimedOut => Problem::mint_timeout(),
            Self::Lost(error) => error.into(),
            Self::Full(full) => full.into(),
        };
        problem.into_response()
    }
}

/// How long a request that waits for a mint may still take when the service stops.
const GRACE: Duration = Duration::from_secs(3);

/// Runs `work`, which waits for a mint, to its end, and waits for its result as long as `limits.mint_timeout`.
///
/// When the service stops, `work` has a few seconds left. It is dropped after that: everything that it waits for is stored,
/// and continues at the next start.
///
/// # Errors
/// [`Error`].
pub(crate) async fn wait_for_mint<T, F>(state: &ApiState, work: F) -> Result<T, Error>
where
    F: Future<Output = Result<T, TicketCallError>> + Send + 'static,
    T: Send + 'static,
{
    let place = state.mint_calls.take(RequestContext::current().and_then(|context| context.origin))?;
    let stop = state.stop.clone();
    let work = async move {
        tokio::select! {
            biased;
            result = work => result.map_err(Error::Call),
            () = end_of_grace(&stop) => Err(Error::TimedOut),
        }
    };
    timeout(state.limits.mint_timeout, detached_change::run_at(state, place, work))
        .await
        .map_err(|_elapsed| Error::TimedOut)??
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
