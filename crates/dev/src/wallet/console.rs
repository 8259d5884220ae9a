use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};

use tokio::sync::mpsc;

use crate::standard_input::standard_input;

/// Input and output of a command.
pub(super) struct Console {
    lines: Option<mpsc::Receiver<String>>,
    json: bool,
    interactive: bool,
}

impl Console {
    /// Standard input and output. With `json`, prints one object per line.
    pub(super) fn terminal(json: bool) -> Self {
        Self { lines: None, json, interactive: io::stdin().is_terminal() }
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
        if self.lines.is_none() {
            self.lines = standard_input().ok();
        }
        self.lines.as_mut()?.recv().await
    }
}
