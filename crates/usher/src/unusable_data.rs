//! Data directories that cannot be used.

use std::path::Path;

use crate::failure::Failure;

/// The folder in a data directory in which `usher restore` verifies a backup. While it exists, the data are incomplete.
pub(crate) const STAGING: &str = ".usher-restore";

/// Refuses those with an unfinished restore.
pub(crate) fn refuse_unfinished_restore(data_dir: &Path) -> Result<(), Failure> {
    if !data_dir.join(STAGING).exists() {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "the data in {} are not complete: a restore into it is under way, or was interrupted; run `usher restore` again",
        data_dir.display()
    )))
}

/// The file in which `usher dev` keeps by how much the clock of its folder is ahead.
const CLOCK_AHEAD: &str = "clock-ahead";

/// Refuses those whose clock `usher dev` has moved to `usher serve`, whose clock is the machine's: what is stored has
/// later times, so that charges and expiries would come late by as much.
pub(crate) fn refuse_moved_clock(data_dir: &Path) -> Result<(), Failure> {
    let file = data_dir.join(CLOCK_AHEAD);
    if !file.exists() {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "the clock of {} was moved forward with /dev/clock, for tests: what is stored there is from the future. Use a new \
         folder, or remove {} to accept that everything happens that much later",
        data_dir.display(),
        file.display()
    )))
}
