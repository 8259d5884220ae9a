//! Queries the states of proofs (NUT-07) in batches, one request to a mint at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use cashu::PublicKey;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use usher_engine::ports::{MintAuthToken, TokenState};

use crate::job_failure::Refusal;
use crate::job_runtime::{AttemptError, Core};
use crate::mint_error::MintError;
use crate::mints::Mint;

/// Most proofs in a request, unless one token has more.
const MAX_BATCH: usize = 300;

/// Most waiting requests per mint.
const MAX_WAITING: usize = 4096;

#[derive(Default)]
pub(crate) struct StateQueue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    requests: VecDeque<StateRequest>,
    /// Whether a task is sending them.
    is_running: bool,
}

struct StateRequest {
    ys: Vec<PublicKey>,
    /// `None`: the token that the mint accepted last.
    auth: Option<MintAuthToken>,
    reply: oneshot::Sender<Result<TokenState, MintError>>,
}

impl StateQueue {
    /// Adds a request. True if the caller must start [`Core::send_all`].
    fn add(
        &self,
        ys: Vec<PublicKey>,
        auth: Option<MintAuthToken>,
    ) -> Result<(oneshot::Receiver<Result<TokenState, MintError>>, bool), Refusal> {
        let mut waiting = self.0.lock();
        if waiting.requests.len() >= MAX_WAITING {
            return Err(Refusal::Overloaded);
        }
        let (reply, receiver) = oneshot::channel();
        waiting.requests.push_back(StateRequest { ys, auth, reply });
        Ok((receiver, !std::mem::replace(&mut waiting.is_running, true)))
    }

    /// The next batch, whose requests have the same auth token; empty when no request waits, which ends the sending.
    fn next(&self) -> Vec<StateRequest> {
        let mut waiting = self.0.lock();
        let mut batch: Vec<StateRequest> = Vec::new();
        let mut size = 0;
        while let Some(request) = waiting.requests.front() {
            let other_auth = batch.first().is_some_and(|first| first.auth != request.auth);
            if other_auth || !batch.is_empty() && size + request.ys.len() > MAX_BATCH {
                break;
            }
            size += request.ys.len();
            // Requests whose caller has given up are dropped.
            batch.extend(waiting.requests.pop_front().filter(|request| !request.reply.is_closed()));
        }
        waiting.is_running = !batch.is_empty();
        batch
    }
}

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
