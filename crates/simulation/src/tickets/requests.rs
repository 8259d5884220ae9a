//! What the app has asked for, and what it holds.

use usher_engine::ports::Token;

/// What the app has asked for, and what it holds. It outlives the process.
#[derive(Debug, Default)]
pub(super) struct App {
    pub(super) requests: Vec<Request>,
    pub(super) tokens: Vec<Token>,
}

#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) what: WalletRequest,
    /// What came of it; `None` while nobody knows.
    pub(super) outcome: Option<Outcome>,
    pub(super) runs: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WalletRequest {
    Mint(u64),
    Withdraw(u64),
    Redeem(Token),
    Verify(Token),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Token(Token),
    Received(u64),
    Refused(String),
}

impl App {
    pub(super) fn done(&self) -> usize {
        let failed = |request: &&Request| matches!(request.outcome, None | Some(Outcome::Refused(_)));
        self.requests.len() - self.requests.iter().filter(failed).count()
    }
}
