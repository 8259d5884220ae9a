//! Asks a mint for the states of proofs, many questions in one request.

use std::sync::Arc;

use cashu::PublicKey;
use usher_engine::ports::{MintAuthToken, TokenState};

use crate::job_failure::Refusal;
use crate::job_runtime::{AttemptError, Core};
use crate::mint_error::MintError;
use crate::mints::Mint;
use crate::proof_states::together;

impl Core {
    /// The state of the proofs with these points, asked together with what others ask the same mint; [`AttemptError::Refused`]
    /// when too many wait.
    pub(crate) async fn state(
        self: &Arc<Self>,
        mint: &Arc<Mint>,
        ys: Vec<PublicKey>,
        auth: Option<&MintAuthToken>,
    ) -> Result<TokenState, AttemptError> {
        let (reply, must_send) = mint.states.ask(ys, auth.cloned()).map_err(AttemptError::Refused)?;
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

    /// The same, once, for a caller who does not try again by itself.
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
            // Not reached: nothing is stored here.
            Err(AttemptError::Stopped | AttemptError::Stale) => Err(MintError::TimedOut.into()),
        }
    }

    /// Sends what waits, batch after batch, until nothing waits.
    async fn send_all(&self, mint: Arc<Mint>) {
        // Those who ask at the same time are one batch.
        tokio::task::yield_now().await;
        loop {
            let batch = mint.states.next();
            let Some(first) = batch.first() else { return };
            let auth = match &first.auth {
                Some(auth) => Some(auth.clone()),
                None => self.tokens.of(&mint.address).await,
            };
            let ys = batch.iter().flat_map(|question| question.ys.iter().copied()).collect();
            let result = mint.client.check_state(ys, auth.as_ref()).await;
            let mut states = result.as_ref().map(|states| states.iter().map(|state| state.state));
            for question in batch {
                let state = match &mut states {
                    Ok(states) => Ok(together(states.by_ref().take(question.ys.len()))),
                    Err(error) => Err((*error).clone()),
                };
                // Who asked may have given up.
                let _ = question.reply.send(state);
            }
        }
    }
}
