//! A network that is made once for all tests of a run, and that each of them copies.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;

use crate::network::{Fees, Network};

/// Says for which run the network beside it was made.
const RUN: &str = "run";

impl Network {
    /// Starts a copy of a network that is made once for all tests of a run: nodes with the same keys, and the same chain.
    pub async fn start_copy() -> anyhow::Result<Self> {
        Self::start_copy_with(Fees::default()).await
    }

    pub async fn start_copy_with(fees: Fees) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        copy(folder.path()).await?;
        Self::start_again(folder, fees).await
    }
}

/// Copies the network into this folder. The first caller of a run makes it; the others wait.
async fn copy(to: &Path) -> anyhow::Result<()> {
    let kept = folder()?;
    fs::create_dir_all(&kept)?;
    let lock = File::create(kept.join("lock"))?;
    // Until it is dropped.
    let _lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await??;
    let (network, run) = (kept.join("network"), run());
    if fs::read_to_string(kept.join(RUN)).is_ok_and(|made_for| made_for == run) {
        return copy_folder(&network, to);
    }
    let made = Network::start_with(Fees::default()).await?.stop().await?;
    let _ = fs::remove_file(kept.join(RUN));
    let _ = fs::remove_dir_all(&network);
    copy_folder(made.path(), &network)?;
    fs::write(kept.join(RUN), run)?;
    copy_folder(&network, to)
}

/// Where it is kept: in the target folder of the test program, which is in `target/debug/deps`.
fn folder() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(3).context("the test program is not in a target folder")?;
    Ok(target.join("tmp/lightning-network"))
}

/// The run of scripts/run-tests, whose tests are processes; elsewhere this process.
fn run() -> String {
    std::env::var("USHER_TEST_RUN").unwrap_or_else(|_| std::process::id().to_string())
}

fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_folder(&path, &copy)?;
        } else {
            fs::copy(&path, &copy)?;
        }
    }
    Ok(())
}
