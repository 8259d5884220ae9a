//! The requests for states of proofs that wait for a mint.

use std::collections::VecDeque;

use cashu::PublicKey;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use usher_engine::ports::{MintAuthToken, TokenState};

use crate::job_failure::Refusal;
use crate::mint_error::MintError;

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

pub(crate) struct StateRequest {
    pub(crate) ys: Vec<PublicKey>,
    /// `None`: the token that the mint accepted last.
    pub(crate) auth: Option<MintAuthToken>,
    pub(crate) reply: oneshot::Sender<Result<TokenState, MintError>>,
}

impl StateQueue {
    /// Adds a request. True if the caller must start `Core::send_all`.
    pub(crate) fn add(
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
    pub(crate) fn next(&self) -> Vec<StateRequest> {
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
