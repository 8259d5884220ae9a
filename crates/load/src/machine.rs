//! Describes the machine, because figures mean nothing without it.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::latencies::Latencies;

/// How many times a write is synced to disk.
const SYNCS: usize = 300;

#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    cores: usize,
    processor: String,
    memory_gib: u64,
    kernel: String,
    data_folder: String,
    filesystem: String,
    /// Time to append 4 KiB and make it durable, in milliseconds.
    sync_p50_ms: Option<f64>,
    sync_p99_ms: Option<f64>,
}

impl Machine {
    /// Looks at this machine and tries the disk under `folder`.
    pub(crate) fn look(folder: &Path) -> Result<Self> {
        let mut syncs = syncs(folder)?;
        Ok(Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            memory_gib: field("/proc/meminfo", "MemTotal")
                .and_then(|kb| kb.trim_end_matches(" kB").parse::<u64>().ok())
                .map_or(0, |kb| kb.div_ceil(1 << 20)),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            data_folder: folder.display().to_string(),
            filesystem: filesystem(folder).unwrap_or_else(|| "unknown".to_owned()),
            sync_p50_ms: syncs.percentile_ms(50),
            sync_p99_ms: syncs.percentile_ms(99),
        })
    }

    pub(crate) fn line(&self) -> String {
        let ms = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2} ms"));
        format!(
            "{} cores ({}), {} GiB, Linux {}; data on {}, where making 4 KiB durable takes {} (p99 {}).",
            self.cores,
            self.processor,
            self.memory_gib,
            self.kernel,
            self.filesystem,
            ms(self.sync_p50_ms),
            ms(self.sync_p99_ms)
        )
    }

    /// Whether the data is in memory, where durability costs nothing and start calls are too fast.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.filesystem.starts_with("tmpfs") || self.filesystem.starts_with("ramfs")
    }
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
