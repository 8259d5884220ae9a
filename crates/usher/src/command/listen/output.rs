//! Standard output of `usher listen`.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::Duration;

use serde_json::json;
use usher_engine::ports::Posted;

use super::feed::Shown;

/// The format: for people or for programs.
#[derive(Clone, Copy)]
pub(super) struct EventOutput {
    json: bool,
}

impl EventOutput {
    pub(super) const fn new(json: bool) -> Self {
        Self { json }
    }

    pub(super) fn event(self, shown: &Shown) -> io::Result<()> {
        write(&self.event_line(shown))
    }

    pub(super) fn outcome(self, shown: &Shown, posted: &Posted, took: Duration) -> io::Result<()> {
        write(&self.outcome_line(shown, posted, took))
    }

    fn event_line(self, shown: &Shown) -> String {
        if self.json {
            return format!("{{\"event\":{}}}\n", one_line(&shown.text));
        }
        let Shown { stream, index, kind, timestamp, data, .. } = shown;
        let (hours, minutes, seconds) = (timestamp / 3600 % 24, timestamp / 60 % 60, timestamp % 60);
        let (kind, stream) = (one_line(kind), one_line(stream));
        format!("{hours:02}:{minutes:02}:{seconds:02}Z  {kind}  {stream}:{index}  {}\n", one_line(data))
    }

    fn outcome_line(self, shown: &Shown, posted: &Posted, took: Duration) -> String {
        let Shown { stream, index, .. } = shown;
        let millis = took.as_millis();
        let (status, reason) = match posted {
            Posted::Accepted { http_status } => (Some(*http_status), None),
            Posted::Refused { http_status, reason, .. } => (*http_status, Some(reason)),
        };
        if self.json {
            let outcome = json!({
                "stream_id": stream,
                "index": index,
                "accepted": reason.is_none(),
                "status": status,
                "reason": reason,
                "millis": u64::try_from(millis).unwrap_or(u64::MAX),
            });
            return format!("{}\n", json!({ "forwarded": outcome }));
        }
        let what = match (reason, status) {
            (None, Some(status)) => format!("accepted with {status}"),
            (Some(reason), _) => format!("failed: {}", one_line(reason)),
            (None, None) => "accepted".to_owned(),
        };
        format!("           → {what}, {millis} ms  {}:{index}\n", one_line(stream))
    }
}

fn write(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.flush()
}

/// JSON or other text on one line, without terminal control characters, because parts of it are untrusted.
fn one_line(text: &str) -> Cow<'_, str> {
    let commands =
        |letter: char| letter.is_control() || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(commands) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            // In JSON these occur only between values.
            '\n' | '\r' | '\t' => out.push(' '),
            // In JSON they occur only in strings, where this escape is equivalent.
            letter if commands(letter) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn shown(data: &str) -> Shown {
        Shown {
            text: format!("{{\"stream_id\":\"s\",\"data\":{data}}}"),
            stream: "s".to_owned(),
            index: 3,
            kind: "StatusUpdate".to_owned(),
            timestamp: 1_700_000_000,
            data: data.to_owned(),
        }
    }

    #[test]
    fn what_a_stranger_wrote_commands_no_terminal_and_reads_the_same() {
        let data = "{\"reason\":\n\"a\u{9b}2Jb\u{202e}c\u{7f}\"}";
        let line = EventOutput::new(true).event_line(&shown(data));
        assert!(!line.trim_end().contains(char::is_control) && !line.contains('\u{202e}'), "{line:?}");
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["event"]["data"], serde_json::from_str::<Value>(data).unwrap());
    }
}
