//! Describes the machine, because figures mean nothing without it.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::latencies::Latencies;

const IN_MEMORY: &str =
    "\n\n**The data is in memory: what is durable here costs nothing, and start calls are too fast.**";

/// How many times a write is synced to disk.
const SYNCS: usize = 300;

/// Looks at this machine and tries the disk under `folder`: a line for people.
pub(crate) fn describe(folder: &Path) -> Result<String> {
    let mut syncs = syncs(folder)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = field("/proc/meminfo", "MemTotal");
    let memory = memory.and_then(|kb| kb.trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let filesystem = filesystem(folder).unwrap_or_else(|| "unknown".to_owned());
    let is_in_memory = ["tmpfs", "ramfs"].iter().any(|kind| filesystem.starts_with(kind));
    let [p50, p99] = [50, 99].map(|percent| syncs.percentile_ms(percent).unwrap_or_default());
    Ok(format!(
        "{cores} cores ({processor}), {} GiB, Linux {}; data on {filesystem}, where making 4 KiB durable takes {p50:.2} ms \
         (p99 {p99:.2} ms).{}",
        memory.div_ceil(1 << 20),
        kernel.trim(),
        if is_in_memory { IN_MEMORY } else { "" }
    ))
}

/// A `name: value` line of a file.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Kind and device of the file system that `folder` is on: the longest mount point that leads to it.
fn filesystem(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let under = fields.filter(|fields| fields.get(1).is_some_and(|point| folder.starts_with(point)));
    let nearest = under.max_by_key(|fields| fields.get(1).map_or(0, |point| point.len()))?;
    Some(format!("{} ({})", nearest.get(2)?, nearest.first()?))
}

fn syncs(folder: &Path) -> Result<Latencies> {
    let mut file = tempfile::tempfile_in(folder).with_context(|| format!("cannot write in {}", folder.display()))?;
    let mut latencies = Latencies::default();
    for _ in 0..SYNCS {
        file.write_all(&[0x5a; 4096])?;
        let begun = Instant::now();
        file.sync_data()?;
        latencies.add(begun.elapsed());
    }
    Ok(latencies)
}
