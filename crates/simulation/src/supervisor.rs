//! Starts the service, kills it and starts it again, until the run of the seed is over.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::task::TaskTracker;
use usher_engine::ports::Randomness;
use usher_store::conformance::FullStore;

use crate::app_calls;
use crate::daemon::Service;
use crate::ports::disk::{self, Files};
use crate::world::World;
use crate::world::action::Action;
use crate::world::time::{millis, runtime};

enum ProcessExit {
    Killed,
    Stopped(Option<Duration>),
    Finished,
}

pub(crate) fn keep(world: &Arc<World>, randomness: &Arc<dyn Randomness>) -> Result<(), String> {
    let mut files = Files::new()?;
    loop {
        let runtime = runtime()?;
        let store = files.open()?;
        let ended = world.time.run(&runtime, live(world, store, randomness))?;
        if matches!(ended, ProcessExit::Killed) {
            files.die()?;
        }
        drop(runtime);
        let down = match ended {
            ProcessExit::Finished => return Ok(()),
            ProcessExit::Killed | ProcessExit::Stopped(None) => None,
            ProcessExit::Stopped(given) => given,
        };
        rest(world, down);
    }
}

async fn live(
    world: &Arc<World>,
    store: Arc<dyn FullStore>,
    randomness: &Arc<dyn Randomness>,
) -> Result<ProcessExit, String> {
    let service = {
        let disk = Arc::new(disk::Disk::with(store, Arc::clone(world)));
        let mut starting = std::pin::pin!(Service::start(world, disk, Arc::clone(randomness)));
        loop {
            tokio::select! {
                biased;
                () = world.killed.notified() => return Ok(ProcessExit::Killed),
                started = &mut starting => break started?,
                // The service does not run yet, so every task has to wait.
                task = next_task(world) => if matches!(task, Action::End) {
                    world.later(Duration::from_secs(10), Action::End);
                },
            }
        }
    };
    {
        let mut state = world.lock();
        state.up = true;
        state.starts += 1;
        state.ask_again();
        let start = state.starts;
        state.log(&format!("the service is up for the {start}. time"));
    }
    let calls = TaskTracker::new();
    loop {
        let task = tokio::select! {
            biased;
            () = world.killed.notified() => return Ok(ProcessExit::Killed),
            () = service.engine.failed() => {
                world.lock().violation("no-panic", "a task of the engine has panicked");
                return Ok(ProcessExit::Killed);
            }
            task = next_task(world) => task,
        };
        match task {
            Action::Kill => return Ok(ProcessExit::Killed),
            Action::Call(call) => {
                calls.spawn(app_calls::make(Arc::clone(world), Arc::clone(&service.engine), call));
            }
            Action::Look => {
                calls.spawn(app_calls::look(Arc::clone(world), Arc::clone(&service.engine)));
            }
            Action::End => {
                let open = service.engine.open_streams();
                world.lock().judge(open);
                return Ok(ProcessExit::Finished);
            }
            Action::Restart(down) => return Ok(stop(world, service, &calls, down).await),
            _ => {}
        }
    }
}

/// An orderly stop: running requests get their responses first.
async fn stop(world: &Arc<World>, service: Service, calls: &TaskTracker, down: Option<Duration>) -> ProcessExit {
    world.lock().log("! stopped in order");
    world.lock().up = false;
    let mut stopping = std::pin::pin!(async {
        calls.close();
        // As the server does: calls have a while to end.
        let _ = tokio::time::timeout(Duration::from_secs(5), calls.wait()).await;
        service.stop().await
    });
    loop {
        tokio::select! {
            biased;
            () = world.killed.notified() => return ProcessExit::Killed,
            in_time = &mut stopping => {
                if !in_time {
                    world.lock().violation("stops-in-time", "an orderly stop took over a minute");
                }
                return ProcessExit::Stopped(down);
            }
            task = next_task(world) => if matches!(task, Action::End) {
                world.later(Duration::from_secs(100), Action::End);
            },
        }
    }
}

/// Runs everything that is due, until something must be done by the supervisor.
async fn next_task(world: &World) -> Action {
    loop {
        let wait = {
            let mut state = world.lock();
            while let Some(action) = state.next_due() {
                if let Some(task) = state.act(action) {
                    return task;
                }
            }
            state.next_at().map(|at| Duration::from_millis(at.saturating_sub(state.now())))
        };
        tokio::select! {
            biased;
            () = world.queued.notified() => {}
            () = sleep(wait.unwrap_or(Duration::from_secs(3600))) => {}
        }
    }
}

/// The service is down for a while; the world continues.
fn rest(world: &World, down: Option<Duration>) {
    let mut state = world.lock();
    state.up = false;
    for relay in &mut state.relays {
        relay.connections.clear();
    }
    let down = match down {
        Some(down) => down,
        None => {
            let down = state.plan.down.clone();
            state.decisions.delay(down)
        }
    };
    let begin = state.now();
    let until = begin + millis(down);
    state.log(&format!("the service is down for {} s", down.as_secs()));
    state.invariants.bad.push((begin.saturating_sub(5000), until + 5000));
    while let Some(at) = state.next_at().filter(|at| *at <= until) {
        world.time.wait(at);
        if let Some(action) = state.next_due()
            && let Some(Action::End) = state.act(action)
        {
            state.later(down + Duration::from_secs(600), Action::End);
        }
    }
    world.time.wait(until);
}
