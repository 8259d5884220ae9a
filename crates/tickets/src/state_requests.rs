//! Queries the states of proofs (NUT-07) in batches, one request to a mint at a time.

use std::sync::Arc;

use cashu::PublicKey;
use usher_engine::ports::{MintAuthToken, TokenState};

use crate::job_failure::Refusal;
use crate::job_runtime::{AttemptError, Core};
use crate::mint_error::MintError;
use crate::mints::Mint;

impl Core {
    /// The combined state of the proofs with these points, queried in a batch with other requests; [`AttemptError::Refused`]
    /// when too many wait.
    pub(crate) async fn state(
        self: &Arc<Self>,
        mint: &Arc<Mint>,
        ys: Vec<PublicKey>,
        auth: Option<&MintAuthToken>,
    ) -> Result<TokenState, AttemptError> {
        let (reply, must_send) = mint.states.add(ys, auth.cloned()).map_err(AttemptError::Refused)?;
        if must_send {
            let (core, mint) = (Arc::clone(self), Arc::clone(mint));
            self.tasks.spawn(async move {
                let aborting = core.aborting.clone();
                tokio::select! {
                    () = core.send_all(mint) => {}
                    () = aborting.cancelled() => {}
                }
            });
        }
        Ok(reply.await.unwrap_or(Err(MintError::TimedOut))?)
    }

    /// [`Self::state`] for a caller who does not try again.
    pub(crate) async fn state_once(
        self: &Arc<Self>,
        mint: &Arc<Mint>,
        ys: Vec<PublicKey>,
        auth: Option<&MintAuthToken>,
    ) -> Result<TokenState, Refusal> {
        match self.state(mint, ys, auth).await {
            Ok(state) => Ok(state),
            Err(AttemptError::Refused(refusal)) => Err(refusal),
            Err(AttemptError::Mint(error)) => Err(error.into()),
            // Unreachable: nothing is stored here.
            Err(AttemptError::Stopped | AttemptError::Stale) => Err(MintError::TimedOut.into()),
        }
    }

    /// Sends the waiting requests in batches until none waits.
    async fn send_all(&self, mint: Arc<Mint>) {
        // Requests of concurrent callers form one batch.
        tokio::task::yield_now().await;
        loop {
            let batch = mint.states.next();
            let Some(first) = batch.first() else { return };
            let auth = match &first.auth {
                Some(auth) => Some(auth.clone()),
                None => self.tokens.of(&mint.address).await,
            };
            let ys = batch.iter().flat_map(|request| request.ys.iter().copied()).collect();
            let result = mint.client.check_state(ys, auth.as_ref()).await;
            let mut states = result.as_ref().map(|states| states.iter().map(|state| state.state));
            for request in batch {
                let state = match &mut states {
                    Ok(states) => Ok(together(states.by_ref().take(request.ys.len()))),
                    Err(error) => Err((*error).clone()),
                };
                // The caller may have gone.
                let _ = request.reply.send(state);
            }
        }
    }
}

pub(crate) fn together(states: impl Iterator<Item = cashu::State>) -> TokenState {
    states.fold(TokenState::Unspent, |all, state| match (all, state) {
        (TokenState::Spent, _) | (_, cashu::State::Spent) => TokenState::Spent,
        (TokenState::Pending, _) | (_, cashu::State::Pending | cashu::State::PendingSpent) => TokenState::Pending,
        // `Reserved` is a state within wallets.
        (TokenState::Unspent, cashu::State::Unspent | cashu::State::Reserved) => TokenState::Unspent,
    })
}
