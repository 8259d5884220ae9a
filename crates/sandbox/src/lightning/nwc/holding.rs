//! What waits for a release.

use super::ErrorCode;
use super::desk::receipt;
use super::serving::{Asked, MAX_WAITING, Shared};
use super::wire::{Answer, Refusal};

/// A call, or the answer to one, that waits.
#[derive(Debug)]
pub(super) enum Held {
    Answer(Asked, Answer),
    Call(Asked),
}

impl Shared {
    pub(super) fn hold(&self, held: Held) {
        let mut all = self.held.lock();
        if all.len() >= MAX_WAITING {
            all.pop_front();
        }
        all.push_back(held);
    }

    pub(super) fn release(&self) -> usize {
        let held = std::mem::take(&mut *self.held.lock());
        let behaviour = self.behaviour.lock().clone();
        let count = held.len();
        for held in held {
            let (asked, answer) = match held {
                Held::Answer(asked, answer) => (asked, Some(answer)),
                Held::Call(asked) => {
                    let answer = self.execute(&asked, &behaviour);
                    (asked, answer)
                }
            };
            if let Some(answer) = answer {
                self.answer(&asked, &answer);
            }
        }
        count
    }

    pub(super) fn release_payments(&self, arrive: bool) -> usize {
        let in_flight = std::mem::take(&mut *self.in_flight.lock());
        let behaviour = self.behaviour.lock().clone();
        let account = &self.desk.account;
        let count = in_flight.len();
        for (hash, asked) in in_flight {
            let outcome = if arrive {
                account.settle(hash).map(|paid| receipt(&paid, &behaviour)).map_err(|error| error.to_string())
            } else {
                Err(account.fail(hash).err().map_or("no route found".to_owned(), |error| error.to_string()))
            };
            let failed = |message| Refusal::new(ErrorCode::PaymentFailed, message);
            self.answer(&asked, &Answer(outcome.map_err(failed)));
        }
        count
    }
}
