//! Runs several instances of the service on one database, until nothing more goes wrong.
//!
//! Each instance has a runtime of its own, whose time goes on in small steps: first the world does what is due, then each instance
//! runs for the step, one after the other. So an instance can be killed (its runtime is dropped), and paused: it is left out for a
//! while, and then its clock leaps, with everything exactly where it was. The network (relays' ends of connections, requests
//! on their way to the lease) has a runtime too, and goes on while an instance is paused.

mod instance;
mod takeover_rules;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::time::{advance, sleep};
use usher_engine::ports::Randomness;

use self::instance::{End, Instance, Surroundings};
use self::takeover_rules::TakeoverRules;
use crate::app_calls;
use crate::ports::disk::Files;
use crate::supervisor;
use crate::world::World;
use crate::world::action::{Action, Call};
use crate::world::instances::InstanceFault;
use crate::world::time::{STEP, millis, runtime};

const APP_TIMEOUT: Duration = Duration::from_secs(8);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stepped {
    Whole,
    Killed,
    Paused,
    Ended,
}

struct Cluster {
    around: Arc<Surroundings>,
    network: Runtime,
    instances: Vec<Instance>,
    rules: TakeoverRules,
    now: u64,
    unserved_since: Option<u64>,
}

/// Runs the world to its end: several instances until it is calm, and then one.
pub(crate) fn keep(world: &Arc<World>, randomness: &Arc<dyn Randomness>) -> Result<(), String> {
    let mut files = Files::new()?;
    let around = Surroundings { world: Arc::clone(world), store: files.open()?, randomness: Arc::clone(randomness) };
    Cluster::new(around)?.run()?;
    {
        let mut state = world.lock();
        state.log("only one instance is left, and starts anew");
        state.up = false;
        let pending: Vec<_> = state.app.asked.values().copied().collect();
        pending.into_iter().for_each(|instance| state.ask_elsewhere(instance));
        for relay in &mut state.relays {
            relay.connections.clear();
        }
        let now = state.now();
        state.invariants.bad.push((now.saturating_sub(5_000), now + 10_000));
    }
    files.die()?;
    supervisor::keep_on(world, files, randomness)
}

/// Lets a runtime go on from one time to another, or until something happens to it.
fn step(world: &World, runtime: &Runtime, (from, until): (u64, u64), ended: &Notify) -> Stepped {
    world.time.set(from);
    world.time.run(runtime, async {
        tokio::select! {
            biased;
            () = world.killed.notified() => Stepped::Killed,
            () = world.paused.notified() => Stepped::Paused,
            () = ended.notified() => Stepped::Ended,
            () = sleep(Duration::from_millis(until.saturating_sub(from))) => Stepped::Whole,
        }
    })
}

impl Cluster {
    fn new(around: Surroundings) -> Result<Self, String> {
        let around = Arc::new(around);
        let ahead: Vec<Arc<AtomicI64>> =
            around.world.lock().instances.machines.iter().map(|machine| Arc::clone(&machine.ahead)).collect();
        let instances = ahead.into_iter().enumerate().map(|(number, ahead)| Instance::new(number, ahead));
        Ok(Self {
            network: runtime()?,
            instances: instances.collect(),
            around,
            rules: TakeoverRules::default(),
            now: 0,
            unserved_since: Some(0),
        })
    }

    fn run(mut self) -> Result<(), String> {
        let world = Arc::clone(&self.around.world);
        let never = Notify::new();
        while !world.lock().calm {
            let (now, until) = (self.now, self.now + STEP);
            world.time.set(now);
            self.act()?;
            for instance in &mut self.instances {
                instance.start_if_due(now, &self.around, self.network.handle())?;
            }
            step(&world, &self.network, (now, until), &never);
            for number in 0..self.instances.len() {
                self.step(number, until);
            }
            world.time.set(until);
            self.now = until;
            self.look();
        }
        Ok(())
    }

    fn act(&mut self) -> Result<(), String> {
        loop {
            let action = {
                let mut state = self.around.world.lock();
                let Some(action) = state.next_due() else { return Ok(()) };
                state.act(action)
            };
            match action {
                Some(Action::Call(call)) => self.call(call),
                Some(Action::Look) => self.look_at_a_stream(),
                Some(Action::Instance(fault)) => self.happen(fault),
                Some(other) => return Err(format!("with instances there is no {other:?}")),
                None => {}
            }
        }
    }

    fn happen(&mut self, fault: InstanceFault) {
        let (world, now) = (Arc::clone(&self.around.world), self.now);
        let (InstanceFault::Kill(target) | InstanceFault::Pause(target, _) | InstanceFault::Stop(target)) = fault
        else {
            return;
        };
        let number = world.lock().resolve(target);
        let Some(instance) = self.instances.get_mut(number).filter(|instance| instance.runs()) else { return };
        match fault {
            InstanceFault::Kill(_) => {
                world.lock().log(&format!("! instance {number} is killed"));
                self.down(number);
            }
            InstanceFault::Pause(_, lasts) if instance.paused_until.is_none() => {
                world.lock().log(&format!("! instance {number} is paused for {} ms", lasts.as_millis()));
                self.pause(number, now, lasts);
            }
            InstanceFault::Stop(_) => {
                world.lock().log(&format!("! instance {number} is stopped in order"));
                instance.stop.cancel();
            }
            _ => {}
        }
    }

    fn pause(&mut self, number: usize, now: u64, lasts: Duration) {
        let Some(instance) = self.instances.get_mut(number) else { return };
        let end = now + millis(lasts);
        instance.paused_until = Some(end);
        let mut state = self.around.world.lock();
        state.invariants.bad.push((now.saturating_sub(5_000), end + 5_000));
        state.later(APP_TIMEOUT, Action::Impatience(number));
    }

    /// An instance's process is gone; another one is started in its place.
    fn down(&mut self, number: usize) {
        let world = &self.around.world;
        let down = {
            let mut state = world.lock();
            state.ask_elsewhere(number);
            state.decisions.delay(100..20_000)
        };
        if let Some(instance) = self.instances.get_mut(number) {
            instance.end(self.now + millis(down));
        }
    }

    fn step(&mut self, number: usize, until: u64) {
        let world = Arc::clone(&self.around.world);
        let Some(instance) = self.instances.get_mut(number) else { return };
        let Some(runtime) = &instance.runtime else { return };
        if instance.paused_until.is_some_and(|paused| paused > self.now) {
            return;
        }
        if instance.paused_until.take().is_some() {
            world.lock().log(&format!("instance {number} goes on"));
        }
        let gap = self.now.saturating_sub(instance.clock);
        if gap > 0 {
            world.time.set(self.now);
            runtime.block_on(advance(Duration::from_millis(gap)));
        }
        let stepped = step(&world, runtime, (instance.clock.max(self.now), until), &instance.ended);
        let stopped_at = world.time.passed();
        instance.clock = stopped_at;
        let end = instance.known.lock().end.take();
        match (stepped, end) {
            (Stepped::Killed, _) => self.down(number),
            (_, Some(End::StartsOver(why))) => {
                world.lock().log(&format!("instance {number} starts over: {why}"));
                world.lock().ask_elsewhere(number);
                if let Some(instance) = self.instances.get_mut(number) {
                    instance.end(until + 200);
                }
            }
            (_, Some(End::Stopped)) => {
                world.lock().log(&format!("instance {number} has stopped"));
                self.down(number);
            }
            (Stepped::Paused, None) => {
                let lasts = world.lock().instances.pause_now.take().unwrap_or_default();
                world.lock().log(&format!("instance {number} is paused"));
                self.pause(number, stopped_at, lasts);
            }
            (Stepped::Whole | Stepped::Ended, None) => {}
        }
    }

    /// Looks whether the rules hold, and whether anybody serves.
    fn look(&mut self) {
        let mut state = self.around.world.lock();
        self.rules.check(&mut state, &self.instances, self.now);
        let serves = |instance: &Instance| instance.known.lock().engine.is_some();
        state.up = self.instances.iter().any(serves);
        let is_served = self.instances.iter().any(|instance| serves(instance) && instance.paused_until.is_none());
        match (is_served, self.unserved_since) {
            (false, None) => self.unserved_since = Some(self.now),
            (true, Some(since)) => {
                state.invariants.bad.push((since.saturating_sub(5_000), self.now + 5_000));
                self.unserved_since = None;
            }
            _ => {}
        }
    }

    /// A call goes to any instance: a standby forwards it to the active one that it knows of.
    fn call(&mut self, call: Call) {
        let entry = self.entry();
        let active = entry.and_then(|entry| {
            let known = self.instances.get(entry)?.known.lock();
            if known.engine.is_some() { Some(entry) } else { known.active }
        });
        let engine = active.and_then(|active| Some((active, self.instances.get(active)?)));
        let engine = engine.and_then(|(active, instance)| Some((active, instance, instance.engine()?)));
        let world = Arc::clone(&self.around.world);
        let mut state = world.lock();
        let number = call.number;
        let Some((active, instance, engine)) = engine else {
            return state.failed(&call, "503: no active instance");
        };
        state.app.asked.insert(number, active);
        state
            .log(&format!("call {number} goes to instance {active}, by way of instance {}", entry.unwrap_or_default()));
        drop(state);
        instance.spawn(app_calls::make(world, engine, call));
    }

    /// An instance that a load balancer finds healthy.
    fn entry(&self) -> Option<usize> {
        let healthy: Vec<usize> = self
            .instances
            .iter()
            .enumerate()
            .filter(|(_, instance)| instance.runs() && instance.paused_until.is_none())
            .map(|(number, _)| number)
            .collect();
        let first = *healthy.first()?;
        Some(self.around.world.lock().decisions.pick(&healthy, first))
    }

    fn look_at_a_stream(&self) {
        let served = self.instances.iter().find_map(|instance| Some((instance, instance.engine()?)));
        if let Some((instance, engine)) = served {
            instance.spawn(app_calls::look(Arc::clone(&self.around.world), engine));
        }
    }
}
