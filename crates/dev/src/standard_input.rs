//! Lines that a person types.

use std::io::{self, BufRead as _};

use tokio::sync::mpsc;

/// The lines of standard input, until it is closed.
///
/// Reading blocks and cannot be interrupted, so it runs on a separate thread, which ends with the program.
pub(crate) fn standard_input() -> io::Result<mpsc::Receiver<String>> {
    let (to_lines, lines) = mpsc::channel(16);
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut input = io::stdin().lock().lines().map_while(Result::ok);
        input.all(|line| to_lines.blocking_send(line).is_ok());
    })?;
    Ok(lines)
}
