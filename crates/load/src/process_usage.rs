//! Processor time and memory of each process, from `/proc`.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::database::PostgresqlServer;

/// Clock ticks per second in `/proc` (USER_HZ, which is 100 on every architecture that Linux has today).
const TICKS_PER_SECOND: f64 = 100.0;

/// The processes whose CPU time is measured separately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processes {
    pub(crate) usher: Option<u32>,
    pub(crate) relay: Option<u32>,
    /// The service's Lightning backend, counted with the relay: in production both run on other machines.
    pub(crate) lightning: Option<u32>,
}

/// Processor time used so far, in ticks.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    usher: u64,
    relay: u64,
    load: u64,
    machine: u64,
}

/// A running measurement of processor time.
#[derive(Debug)]
pub(crate) struct Meter {
    processes: Processes,
    begun: Instant,
    before: Ticks,
    postgresql: Option<Arc<PostgresqlServer>>,
    round_trips_before: u64,
}

/// Processor time used, in processors: 1.0 is one of them all the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) usher: f64,
    pub(crate) relay: f64,
    pub(crate) load: f64,
    /// Everybody else on the machine: when it is much, the measurement is worth little.
    pub(crate) others: f64,
    /// Round trips to a distant PostgreSQL server, in all; 0 where the service has none.
    pub(crate) round_trips: u64,
}

impl Meter {
    /// Starts; `postgresql` is where the service keeps its data.
    pub(crate) fn start(processes: Processes, postgresql: Option<Arc<PostgresqlServer>>) -> Result<Self> {
        let round_trips_before = postgresql.as_ref().map_or(0, |server| server.round_trips());
        Ok(Self { processes, begun: Instant::now(), before: Ticks::now(processes)?, postgresql, round_trips_before })
    }

    /// How long it has run, and who used what meanwhile.
    pub(crate) fn stop(&self) -> Result<(Duration, Usage)> {
        let after = Ticks::now(self.processes)?;
        let elapsed = self.begun.elapsed();
        let used = |after: u64, before: u64| ticks(after.saturating_sub(before)) / elapsed.as_secs_f64();
        let usher = used(after.usher, self.before.usher);
        let relay = used(after.relay, self.before.relay);
        let load = used(after.load, self.before.load);
        let others = (used(after.machine, self.before.machine) - usher - relay - load).max(0.0);
        let round_trips = self.postgresql.as_ref().map_or(0, |server| server.round_trips());
        let round_trips = round_trips.saturating_sub(self.round_trips_before);
        Ok((elapsed, Usage { usher, relay, load, others, round_trips }))
    }
}

impl Ticks {
    fn now(processes: Processes) -> Result<Self> {
        let of = |pid: Option<u32>| pid.map_or(Ok(0), |pid| of_process(&pid.to_string()));
        Ok(Self {
            usher: of(processes.usher)?,
            relay: of(processes.relay)? + of(processes.lightning)?,
            load: of_process("self")?,
            machine: of_machine()?,
        })
    }
}

/// Seconds of so many ticks.
#[expect(clippy::cast_precision_loss, reason = "2^53 ticks are three million years")]
fn ticks(count: u64) -> f64 {
    count as f64 / TICKS_PER_SECOND
}

/// User and system time of a process, with that of its threads that have ended.
fn of_process(pid: &str) -> Result<u64> {
    let path = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    // The second field is the program's name in parentheses, which may hold anything.
    let fields = stat.rsplit_once(')').context("unknown form of /proc/…/stat")?.1;
    let time = |field: usize| -> Result<u64> {
        Ok(fields.split_ascii_whitespace().nth(field).context("/proc/…/stat is short")?.parse()?)
    };
    // Fields 14 and 15 of proc(5); the third comes first here.
    Ok(time(11)? + time(12)?)
}

/// Time that all processors together were busy.
fn of_machine() -> Result<u64> {
    let stat = fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
    let line = stat.lines().next().context("/proc/stat is empty")?;
    let times: Vec<u64> = line.split_ascii_whitespace().skip(1).map(str::parse).collect::<Result<_, _>>()?;
    // user nice system idle iowait irq softirq steal: idle and iowait are not busy, and guest times count twice.
    Ok(times.iter().take(8).sum::<u64>() - times.iter().skip(3).take(2).sum::<u64>())
}

/// Resident memory of a process, in bytes.
pub(crate) fn resident_bytes(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}
