//! Whether proofs are spent (NUT-07): questions about one mint go out in batches, one request at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use cashu::PublicKey;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use usher_engine::ports::TokenState;

use crate::core::Core;
use crate::failure::Refusal;
use crate::mint_error::MintError;
use crate::mints::Mint;

/// Most proofs in a request, unless one token has more.
const MAX_BATCH: usize = 300;

/// Most tokens that wait for one mint.
const MAX_WAITING: usize = 4096;

/// The questions that wait for one mint.
#[derive(Default)]
pub(crate) struct StateQueue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    questions: VecDeque<Question>,
    /// Whether somebody sends them.
    is_running: bool,
}

struct Question {
    ys: Vec<PublicKey>,
    reply: oneshot::Sender<Result<TokenState, MintError>>,
}

impl StateQueue {
    /// Adds a question. True if the caller must start [`Core::send_all`].
    pub(crate) fn ask(
        &self,
        ys: Vec<PublicKey>,
    ) -> Result<(oneshot::Receiver<Result<TokenState, MintError>>, bool), Refusal> {
        let mut waiting = self.0.lock();
        if waiting.questions.len() >= MAX_WAITING {
            return Err(Refusal::Overloaded);
        }
        let (reply, receiver) = oneshot::channel();
        waiting.questions.push_back(Question { ys, reply });
        Ok((receiver, !std::mem::replace(&mut waiting.is_running, true)))
    }

    /// The next batch; none when there is nothing to ask, and then nobody sends any more.
    fn next(&self) -> Vec<Question> {
        let mut waiting = self.0.lock();
        let mut batch = Vec::new();
        let mut size = 0;
        while let Some(question) = waiting.questions.front() {
            if !batch.is_empty() && size + question.ys.len() > MAX_BATCH {
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

impl Core {
    /// Sends what waits, batch after batch, until nothing waits.
    pub(crate) async fn send_all(&self, mint: Arc<Mint>) {
        loop {
            let batch = mint.states.next();
            if batch.is_empty() {
                return;
            }
            let ys = batch.iter().flat_map(|question| question.ys.iter().copied()).collect();
            let auth = self.tokens.of(&mint.address).await;
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

/// The state of a token whose proofs have these states.
pub(crate) fn together(states: impl Iterator<Item = cashu::State>) -> TokenState {
    states.fold(TokenState::Unspent, |all, state| match (all, state) {
        (TokenState::Spent, _) | (_, cashu::State::Spent) => TokenState::Spent,
        (TokenState::Pending, _) | (_, cashu::State::Pending | cashu::State::PendingSpent) => TokenState::Pending,
        // `Reserved` is a state of wallets; no mint says it.
        (TokenState::Unspent, cashu::State::Unspent | cashu::State::Reserved) => TokenState::Unspent,
    })
}
