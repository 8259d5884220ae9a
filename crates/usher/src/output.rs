//! Standard output for people and pipes.

use std::io::{self, ErrorKind, Write as _};

/// Writes a text. A reader that has gone (`usher … | head -1`) has read enough, and is no failure.
///
/// # Errors
/// When it cannot be written for another reason, such as a full disk.
pub fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Writes a line for the operator to standard error. That nobody listens is no reason to fail.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
