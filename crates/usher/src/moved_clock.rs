//! Data directories whose clock `usher dev` has moved.

use std::path::Path;

use crate::failure::Failure;

/// The file in which `usher dev` keeps by how much the clock of its folder is ahead.
const CLOCK_AHEAD: &str = "clock-ahead";

/// Refuses them to `usher serve`, whose clock is the machine's: what is stored has later times, so that charges and expiries
/// would come late by as much.
pub(crate) fn refuse(data_dir: &Path) -> Result<(), Failure> {
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
