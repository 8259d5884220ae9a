//! Receiving tokens that services send directly (kind 29502). Nobody acknowledges such a token: the service sends it
//! until the mint says that it is spent, so one that could not be received comes again.

use std::sync::Arc;
use std::time::Duration;

use usher_engine::ports::Token;
use usher_protocol::message::Sensitive;

use super::options::Reaction;
use super::received_requests::Decision;
use super::tickets::{ReceivedTicket, TicketsError};
use super::wallet_state::WalletState;
use super::{Request, RequestContent};

/// The pause after the first attempt to reach a mint; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause between two attempts to reach a mint.
const MAX_PAUSE: Duration = Duration::from_secs(60);

impl WalletState {
    /// Handles a token that arrived: receives it if the policy says so, otherwise leaves it to the user.
    pub(super) fn token_arrived(self: &Arc<Self>, request: Request) {
        let policy = &self.policy;
        let RequestContent::Token(sent) = &request.content else { return };
        let known = request.service.is_some();
        let automatic = (policy.receive_tickets && known)
            || (policy.reaction == Some(Reaction::Approve) && (policy.strangers || known));
        if !automatic || self.tickets.is_none() {
            self.requests.take(request, |_| Decision::Ask);
            return;
        }
        if self.requests.is_received(&request) || !self.receipts.begin(&request.id) {
            return;
        }
        let (state, token, delay) = (Arc::clone(self), sent.token.clone(), policy.delay);
        self.tasks.spawn(self.stop.clone().run_until_cancelled_owned(async move {
            tokio::time::sleep(delay).await;
            let outcome = state.receive_until_definite(&token).await;
            state.receipts.end(&request.id);
            state.requests.received(&request, outcome.map_err(|error| error.to_string()), true);
        }));
    }

    /// Receives a token, and tries again while its mint is away.
    async fn receive_until_definite(&self, token: &Sensitive) -> Result<ReceivedTicket, TicketsError> {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.receive_token(token).await {
                Err(error) if !error.is_definite() => tracing::debug!(%error, "a ticket is not received yet"),
                outcome => return outcome,
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(MAX_PAUSE);
        }
    }

    pub(super) async fn receive_token(&self, token: &Sensitive) -> Result<ReceivedTicket, TicketsError> {
        let Some(tickets) = &self.tickets else { return Err(TicketsError::NoTickets) };
        tickets.receive(&Token(token.expose().to_owned())).await
    }
}
