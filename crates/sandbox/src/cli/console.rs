use std::fmt::Display;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use tokio::sync::mpsc;

/// Where a command prints and reads lines.
pub struct Console {
    lines: Option<mpsc::Receiver<String>>,
    json: bool,
    interactive: bool,
}

impl Console {
    /// Standard output, and standard input when a command reads it.
    pub fn terminal() -> Self {
        Self { lines: None, json: false, interactive: io::stdin().is_terminal() }
    }

    pub(super) fn set_json(&mut self, json: bool) {
        self.json = json;
    }

    pub(super) fn is_interactive(&self) -> bool {
        self.interactive && !self.json
    }

    /// Prints a text, or the JSON object with the same content.
    pub(super) fn say(&mut self, text: impl Display, json: &serde_json::Value) -> io::Result<()> {
        let mut out = io::stdout();
        if self.json {
            writeln!(out, "{json}")?;
        } else {
            writeln!(out, "{text}")?;
        }
        out.flush()
    }

    /// Prints a text for humans only.
    pub(super) fn hint(&mut self, text: impl Display) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        let mut out = io::stdout();
        writeln!(out, "{text}")?;
        out.flush()
    }

    /// Prints progress to standard error, because it is not part of the output.
    pub(super) fn print_notice(&mut self, text: impl Display) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        writeln!(io::stderr(), "{text}")
    }

    pub(super) async fn line(&mut self) -> Option<String> {
        self.lines.get_or_insert_with(standard_input).recv().await
    }
}

/// Reads standard input on a thread of its own: a read cannot be interrupted, and the program may end during one.
fn standard_input() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(64);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
