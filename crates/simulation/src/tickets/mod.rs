//! The ticket wallet under one seed: the real wallet and a mint, in a small world of their own.
//!
//! The seed decides what the app asks for, which requests and responses between wallet and mint are lost, when the mint
//! hangs, fails, changes its keyset or forgets its quotes, when the disk is full, and at which instant the process is killed.
//! The app repeats what it got no answer to, under the same id, as it does with an idempotency key. In the end nothing goes
//! wrong for two hours, and two days later the books of the mint, the wallet and the app must agree to the unit.
//!
//! | rule | meaning |
//! | --- | --- |
//! | `no-unit-lost` | what the mint has signed and not got back is what the wallet and the app hold |
//! | `none-twice` | no proof is held twice; a token is redeemed once; a token that the app holds can be spent |
//! | `the-same-token-again` | a repeated request gets the same token |
//! | `every-job-ends` | two hours after the last fault every request has its outcome, and two days later no job is open |

mod app;
pub(crate) mod mint;
mod network;
mod requests;
mod world;

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use self::app::ProcessExit;
use self::mint::Mint;
use self::requests::App;
use self::world::{State, World};
use crate::ports::disk::Files;
use crate::run_log::History;
use crate::seeded_decisions::Decisions;
use crate::world::time::{Time, runtime};

/// What came of a seed.
#[derive(Debug)]
pub struct TicketReport {
    /// What happened, line by line.
    pub history: Vec<String>,
    /// The rules that were broken, and how.
    pub violations: Vec<(&'static str, String)>,
    /// How often the process was killed.
    pub kills: u64,
    /// How many requests of the app succeeded.
    pub done: usize,
}

/// Runs a seed.
pub fn run(seed: u64) -> Result<TicketReport, String> {
    let mut decisions = Decisions::new(seed);
    let mut mint = Mint::default();
    mint.rotate(decisions.pick(&[0, 0, 100, 1000], 0))?;
    let time = Arc::new(Time::default());
    let state = State {
        faults: decisions.pick(&[0, 5, 20, 40], 5),
        decisions,
        history: History::default(),
        mint,
        app: App::default(),
        kill_in: None,
        kills: 0,
        calm: false,
        violations: Vec::new(),
        time: Arc::clone(&time),
    };
    let world = Arc::new(World { time, state: Mutex::new(state), killed: Notify::new() });
    // What outlives the process.
    let files = Files::new()?;
    let store = files.open()?;
    loop {
        let runtime = runtime()?;
        let exit = world.time.run(&runtime, app::live(&world, &store))?;
        drop(runtime);
        match exit {
            ProcessExit::Finished => break,
            ProcessExit::Killed => world.state.lock().kills += 1,
            ProcessExit::Stopped => {}
        }
        let mut state = world.state.lock();
        let down = state.decisions.number(50..60_000);
        world.time.wait(world.time.passed() + down);
        state.log("the process starts again");
    }
    let mut state = world.state.lock();
    let state = &mut *state;
    Ok(TicketReport {
        history: state.history.lines().to_vec(),
        violations: std::mem::take(&mut state.violations),
        kills: state.kills,
        done: state.app.done(),
    })
}
