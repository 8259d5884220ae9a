//! Asks the operator before something that cannot be undone.

use std::io::{BufRead as _, IsTerminal as _};

use crate::failure::Failure;
use crate::output::tell;

/// Asks for confirmation on a terminal, unless `yes`.
pub(crate) fn confirm(yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(Failure::usage("confirm with --yes"));
    }
    tell("usher: continue? [y/N]");
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    if answer.trim().eq_ignore_ascii_case("y") { Ok(()) } else { Err(Failure::said("nothing was done")) }
}
