//! The texts of notices.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use usher_engine::UnixMillis;

use super::attention::{Causes, News};

/// Most lines of a text, each about one cause: ntfy makes an attachment of a text of more than 4,096 bytes.
const MAX_LINES: usize = 12;

/// How urgent a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    /// Something needs attention.
    High,
    /// Something happened.
    Normal,
    /// Something is over.
    Low,
}

/// A message to one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) urgency: Urgency,
    /// One line.
    pub(super) title: String,
    pub(super) text: String,
    /// The address of the console, if it is known.
    pub(super) console: Option<String>,
    /// The data of the webhook's body.
    pub(super) data: Value,
}

impl Message {
    /// The message with this news of the service with this name.
    pub(super) fn of(news: &News, service: &str, console: Option<&str>) -> Self {
        let (urgency, subject) = match (news.begun.len(), news.happened.len()) {
            (0, 0) => (Urgency::Low, "it is over"),
            (0, _) => (Urgency::Normal, "large payment"),
            _ => (Urgency::High, "needs attention"),
        };
        let begun =
            news.begun.values().map(|cause| format!("{} Since {}. {}", cause.what, time(cause.since), cause.step));
        let happened = news.happened.values().map(|cause| format!("{} {}", cause.what, time(cause.since)));
        let over = news.over.values().map(|cause| format!("Over: {} It began {}.", cause.over, time(cause.since)));
        let mut lines: Vec<String> = begun.chain(happened).chain(over).collect();
        if lines.len() > MAX_LINES {
            let further = lines.len() - MAX_LINES;
            lines.truncate(MAX_LINES);
            lines.push(format!("And {further} more."));
        }
        let list = |state: &'static str, causes: &Causes| -> Vec<Value> {
            causes
                .values()
                .map(|cause| {
                    let text = if state == "over" { &cause.over } else { &cause.what };
                    json!({ "on": cause.on, "state": state, "text": text, "since": cause.since })
                })
                .collect()
        };
        let parts = [("begun", &news.begun), ("happened", &news.happened), ("over", &news.over)];
        let notices: Vec<Value> = parts.into_iter().flat_map(|(state, causes)| list(state, causes)).collect();
        Self::new(urgency, format!("{service}: {subject}"), lines.join("\n"), console, notices)
    }

    /// A message that says that messages arrive.
    pub(super) fn test(service: &str, console: Option<&str>, now: UnixMillis) -> Self {
        let sent = date_time(now.secs()).format("%H:%M:%S UTC");
        let text = format!("This is a test. It was sent at {sent}. Notices of this service arrive here.");
        Self::new(Urgency::Normal, format!("{service}: test"), text, console, Vec::new())
    }

    fn new(urgency: Urgency, title: String, text: String, console: Option<&str>, notices: Vec<Value>) -> Self {
        let text = console.map_or_else(|| text.clone(), |console| format!("{text}\n{console}"));
        // A name can have line breaks, with which a header would end.
        let title: String = title.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let data = json!({ "title": title, "text": text, "console_url": console, "notices": notices });
        Self { urgency, title, text, console: console.map(str::to_owned), data }
    }

    /// The body for a webhook, and an id that is the same when it is sent again.
    pub(super) fn webhook(&self, now: UnixMillis) -> (String, String) {
        let mut id = hex::encode(Sha256::digest(self.data.to_string()));
        id.truncate(32);
        let body = json!({ "type": "Notice", "timestamp": now.secs(), "data": self.data });
        (format!("notice_{id}"), body.to_string())
    }
}

fn time(secs: u64) -> String {
    date_time(secs).format("%-d %b %Y %H:%M UTC").to_string()
}

fn date_time(secs: u64) -> DateTime<Utc> {
    let time = i64::try_from(secs).ok().and_then(|secs| DateTime::from_timestamp(secs, 0));
    time.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::attention::Cause;
    use super::*;

    fn causes(count: u64) -> Causes {
        let cause = |n: u64| Cause {
            on: "relay".to_owned(),
            what: format!("The relay r{n}.example is away."),
            step: "Check it.".to_owned(),
            over: format!("The relay r{n}.example is connected again."),
            since: 1_800_000_000 + 60 * n,
        };
        (0..count).map(|n| (format!("relay/{n:04}"), cause(n))).collect()
    }

    #[test]
    fn a_message_says_what_since_when_and_what_helps() {
        let news = News { begun: causes(1), over: causes(2).split_off("relay/0001"), ..News::default() };
        let message = Message::of(&news, "Shop\r\nEvil: 1", Some("https://login.example.com/console"));
        assert_eq!((message.urgency, &*message.title), (Urgency::High, "Shop  Evil: 1: needs attention"));
        assert_eq!(
            message.text,
            "The relay r0.example is away. Since 15 Jan 2027 08:00 UTC. Check it.\n\
             Over: The relay r1.example is connected again. It began 15 Jan 2027 08:01 UTC.\n\
             https://login.example.com/console"
        );
        assert_eq!(message.data["notices"][1]["state"], "over");
        let (id, body) = message.webhook(UnixMillis(1_800_000_060_000));
        let (same, later) = message.webhook(UnixMillis(1_800_000_999_000));
        assert!(id == same && body != later && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'));
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["type"], "Notice");
    }

    #[test]
    fn a_thousand_causes_are_one_short_text() {
        let message = Message::of(&News { begun: causes(1_000), ..News::default() }, "Usher", None);
        assert!(message.text.ends_with("\nAnd 988 more.") && message.text.len() < 4_096);
    }
}
