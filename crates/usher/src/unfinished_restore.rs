//! Data directories with an unfinished restore.

use std::path::Path;

use crate::failure::Failure;

/// The folder in a data directory in which `usher restore` verifies a backup. While it exists, the data are incomplete.
pub(crate) const STAGING: &str = ".usher-restore";

pub(crate) fn refuse(data_dir: &Path) -> Result<(), Failure> {
    if !data_dir.join(STAGING).exists() {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "the data in {} are not complete: a restore into it is under way, or was interrupted; run `usher restore` again",
        data_dir.display()
    )))
}
