//! Standard output for people and pipes.

use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// Writes a text. A closed pipe (`usher … | head -1`) is no failure.
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

/// Writes a line for the operator to standard error, ignoring failures.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// A path, quoted for a shell.
pub fn shell_word(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = path.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-+".contains(letter));
    if plain { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}
