//! The whole service under one seed.
//!
//! The real engine, the real transport to wallets and the real Lightning backend run in virtual time, over connections in
//! memory. A seed decides everything else: what users do, what is lost, late or duplicated, when the disk is full, when
//! clocks are set, and when the process is killed. Invariants are checked while it runs and at the end. The same seed
//! gives the same history. See the README beside this crate.
//!
//! | module | what it is |
//! | --- | --- |
//! | `world` | everything around the service: data, and a queue of what happens next |
//! | `world::invariants` | a ledger of what was committed and reported, and the rules that must hold |
//! | `ports` | the ports of the service, connected to the world |
//! | `daemon`, `supervisor` | the service, and who starts it again when it was killed |
//! | `fault_plan` | the faults of a seed, decided in advance |
//! | [`runner`] | many seeds, each in a process of its own |

mod app_calls;
mod daemon;
pub mod entropy;
mod fault_plan;
mod ports;
mod run_log;
pub mod runner;
mod seeded_decisions;
mod supervisor;
mod world;

use std::sync::Arc;
use std::thread;

use usher_testing::ports::SeededRandomness;

use crate::fault_plan::FaultPlan;
use crate::seeded_decisions::Decisions;
use crate::world::World;
pub use crate::world::invariants::Violation;
pub use crate::world::outage::Script;

/// The result of a seed.
#[derive(Debug)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// The hash of its history.
    pub hash: u64,
    /// What happened, line by line.
    pub history: Vec<String>,
    /// The rules that were broken.
    pub violations: Vec<Violation>,
}

/// Runs a seed. Only the first run of a process is the same every time (see [`entropy`]).
pub fn run(seed: u64) -> Result<Report, String> {
    run_plan(seed, move |decisions| FaultPlan::of(seed, decisions))
}

/// Runs an outage.
pub fn run_outage(script: Script) -> Result<Report, String> {
    run_plan(1, move |_| FaultPlan::of_outage(script))
}

fn run_plan(seed: u64, plan: impl FnOnce(&mut Decisions) -> FaultPlan + Send + 'static) -> Result<Report, String> {
    let run = move || {
        entropy::seed(seed);
        let mut decisions = Decisions::new(seed);
        let plan = plan(&mut decisions);
        let world = World::new(plan, decisions);
        let randomness = Arc::new(SeededRandomness::new(seed ^ 0x5555)) as _;
        supervisor::keep(&world, &randomness)?;
        let state = world.lock();
        Ok(Report {
            seed,
            hash: state.history.hash(),
            history: state.history.lines().to_vec(),
            violations: state.invariants.violations.clone(),
        })
    };
    let thread = thread::Builder::new().name(format!("seed-{seed}")).stack_size(16 * 1024 * 1024).spawn(run);
    let thread = thread.map_err(|error| error.to_string())?;
    thread.join().unwrap_or_else(|_| Err("the simulation panicked".to_owned()))
}
