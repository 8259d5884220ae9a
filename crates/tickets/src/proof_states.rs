//! Whether proofs are spent (NUT-07): questions about one mint go out in batches, one request at a time.

use std::collections::VecDeque;

use cashu::PublicKey;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use usher_engine::ports::{MintAuthToken, TokenState};

use crate::job_failure::Refusal;
use crate::mint_error::MintError;

/// Most proofs in a request, unless one token has more.
const MAX_BATCH: usize = 300;

/// Most tokens that wait for one mint.
const MAX_WAITING: usize = 4096;

#[derive(Default)]
pub(crate) struct StateQueue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    questions: VecDeque<Question>,
    /// Whether somebody sends them.
    is_running: bool,
}

pub(crate) struct Question {
    pub(crate) ys: Vec<PublicKey>,
    /// What the mint is shown; otherwise the token that it accepted last.
    pub(crate) auth: Option<MintAuthToken>,
    pub(crate) reply: oneshot::Sender<Result<TokenState, MintError>>,
}

impl StateQueue {
    /// Adds a question. True if the caller must have all of them sent.
    pub(crate) fn ask(
        &self,
        ys: Vec<PublicKey>,
        auth: Option<MintAuthToken>,
    ) -> Result<(oneshot::Receiver<Result<TokenState, MintError>>, bool), Refusal> {
        let mut waiting = self.0.lock();
        if waiting.questions.len() >= MAX_WAITING {
            return Err(Refusal::Overloaded);
        }
        let (reply, receiver) = oneshot::channel();
        waiting.questions.push_back(Question { ys, auth, reply });
        Ok((receiver, !std::mem::replace(&mut waiting.is_running, true)))
    }

    /// The next batch, of those who show the mint the same; none when there is nothing to ask, and then nobody sends any
    /// more.
    pub(crate) fn next(&self) -> Vec<Question> {
        let mut waiting = self.0.lock();
        let mut batch: Vec<Question> = Vec::new();
        let mut size = 0;
        while let Some(question) = waiting.questions.front() {
            let other_auth = batch.first().is_some_and(|first| first.auth != question.auth);
            if other_auth || !batch.is_empty() && size + question.ys.len() > MAX_BATCH {
                break;
            }
            size += question.ys.len();
            // Who asked may have given up meanwhile.
            batch.extend(waiting.questions.pop_front().filter(|question| !question.reply.is_closed()));
        }
        waiting.is_running = !batch.is_empty();
        batch
    }
}

/// The state of a token whose proofs have these states.
pub(crate) fn together(states: impl Iterator<Item = cashu::State>) -> TokenState {
    states.fold(TokenState::Unspent, |all, state| match (all, state) {
        (TokenState::Spent, _) | (_, cashu::State::Spent) => TokenState::Spent,
        (TokenState::Pending, _) | (_, cashu::State::Pending | cashu::State::PendingSpent) => TokenState::Pending,
        // `Reserved` is a state of wallets; no mint says it.
        (TokenState::Unspent, cashu::State::Unspent | cashu::State::Reserved) => TokenState::Unspent,
    })
}
