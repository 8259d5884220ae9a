//! The world of the ticket wallet: the mint, the app, and what goes wrong.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::mint::Mint;
use super::requests::App;
use crate::run_log::History;
use crate::seeded_decisions::Decisions;
use crate::world::time::Time;

/// How long things go wrong.
pub(super) const TROUBLE: Duration = Duration::from_secs(20 * 60);

/// How long everything goes well after that.
pub(super) const RECOVERY: Duration = Duration::from_secs(2 * 60 * 60);

#[derive(Debug)]
pub(super) struct World {
    pub(super) time: Arc<Time>,
    pub(super) state: Mutex<State>,
    pub(super) killed: Notify,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) decisions: Decisions,
    pub(super) history: History,
    pub(super) mint: Mint,
    pub(super) app: App,
    /// Of a hundred requests to the mint so many go wrong.
    pub(super) faults: u32,
    /// The process is killed at the so-manyth instant of interest from now.
    pub(super) kill_in: Option<u64>,
    pub(super) kills: u64,
    pub(super) calm: bool,
    pub(super) violations: Vec<(&'static str, String)>,
    pub(super) time: Arc<Time>,
}

impl State {
    pub(super) fn log(&mut self, what: &str) {
        let now = self.time.passed();
        self.history.log(now, what);
    }

    pub(super) fn violation(&mut self, rule: &'static str, what: String) {
        self.log(&format!("VIOLATION of {rule}: {what}"));
        self.violations.push((rule, what));
    }

    pub(super) fn goes_wrong(&mut self, chances: u32) -> bool {
        !self.calm && self.decisions.percent(chances)
    }
}

impl World {
    /// An instant of interest: the process may be killed here. When it is, this never returns.
    pub(super) async fn instant(&self, what: &str) {
        let dies = {
            let mut state = self.state.lock();
            let dies = state.kill_in == Some(0) && !state.calm;
            state.kill_in = state.kill_in.and_then(|left| left.checked_sub(1));
            if dies {
                state.log(&format!("! killed {what}"));
            }
            dies
        };
        if dies {
            self.killed.notify_one();
            std::future::pending::<()>().await;
        }
    }
}
