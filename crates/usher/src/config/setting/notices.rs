//! Who is sent notices, and about what.

use std::collections::BTreeSet;
use std::fmt;

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use url::Url;
use usher_protocol::PublicKey;
use usher_protocol::keys::npub;

use super::lists::key;
use super::{ApiToken, RawValue, SET, Setting, WebhookSecret, WebhookUrl, read_each, tables, unfit};

const MAX_ENTRIES: usize = 20;

/// Most triggers of one target.
const MAX_TRIGGERS: usize = 20;

/// What a notice is about. Amounts are millisats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trigger {
    /// An event has not been accepted by the webhook for an hour.
    Webhook,
    /// A payment waits for an approval.
    Approval,
    /// A relay has been lost for ten minutes.
    Relay,
    /// The last backup is older than a day.
    Backup,
    /// The Lightning backend can spend less than this.
    BalanceBelow(u64),
    /// The embedded node can receive less than this.
    InboundBelow(u64),
    /// A payment of more than this was settled.
    PaymentAbove(u64),
}

const PLAIN: [Trigger; 4] = [Trigger::Webhook, Trigger::Approval, Trigger::Relay, Trigger::Backup];

const WITH_LIMIT: [fn(u64) -> Trigger; 3] = [Trigger::BalanceBelow, Trigger::InboundBelow, Trigger::PaymentAbove];

impl Trigger {
    /// Its name in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Approval => "approval",
            Self::Relay => "relay",
            Self::Backup => "backup",
            Self::BalanceBelow(_) => "balance_below_millisats",
            Self::InboundBelow(_) => "inbound_below_millisats",
            Self::PaymentAbove(_) => "payment_above_millisats",
        }
    }

    /// The id of a cause of this trigger: its name, its limit, and which one it is.
    pub fn id(self, detail: &str) -> String {
        match self {
            Self::BalanceBelow(limit) | Self::InboundBelow(limit) | Self::PaymentAbove(limit) => {
                format!("{}:{limit}/{detail}", self.name())
            }
            Self::Webhook | Self::Approval | Self::Relay | Self::Backup => format!("{}/{detail}", self.name()),
        }
    }

    /// Whether this is the id of a cause of this trigger.
    pub fn is_of(self, id: &str) -> bool {
        id.starts_with(&self.id(""))
    }

    fn read(given: &Value) -> Option<Self> {
        if let Some(word) = given.as_str() {
            return PLAIN.into_iter().find(|trigger| trigger.name() == word);
        }
        let mut table = given.as_object().filter(|table| table.len() == 1)?.iter();
        let (key, limit) = table.next()?;
        let limit = limit.as_u64().filter(|limit| *limit > 0)?;
        WITH_LIMIT.into_iter().map(|trigger| trigger(limit)).find(|trigger| trigger.name() == key)
    }
}

/// Where notices are sent.
#[derive(Clone, Debug)]
pub enum NoticeAddress {
    /// To a topic of an ntfy server.
    Ntfy {
        /// The topic's URL, which is a secret: whoever knows it can read the notices.
        url: WebhookUrl,
        /// The access token.
        token: Option<SecretString>,
    },
    /// By encrypted direct message to this key.
    Nostr(PublicKey),
    /// To an address, signed like deliveries to the app's webhook.
    Webhook {
        /// The address.
        url: WebhookUrl,
        /// The secret that signs.
        secret: Option<SecretString>,
    },
}

/// The name for people: no secret.
impl fmt::Display for NoticeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ntfy { url, .. } => write!(f, "ntfy {}", url.origin()),
            Self::Nostr(key) => write!(f, "nostr {}", npub(key)),
            Self::Webhook { url, .. } => write!(f, "webhook {}", url.origin()),
        }
    }
}

/// A target of notices.
#[derive(Clone, Debug)]
pub struct NoticeTarget {
    /// Where.
    pub address: NoticeAddress,
    /// About what, at least one.
    pub on: Vec<Trigger>,
}

impl NoticeTarget {
    /// A name by which it is known again after a restart, from which the address cannot be read.
    pub fn id(&self) -> String {
        let address = match &self.address {
            NoticeAddress::Ntfy { url, .. } => format!("ntfy {}", url.expose()),
            NoticeAddress::Nostr(key) => format!("nostr {}", key.to_hex()),
            NoticeAddress::Webhook { url, .. } => format!("webhook {}", url.expose()),
        };
        let mut id = hex::encode(Sha256::digest(address));
        id.truncate(16);
        id
    }
}

/// Targets of notices with different addresses, at least one.
#[derive(Clone, Debug)]
pub struct NoticeTargets(Vec<NoticeTarget>);

impl NoticeTargets {
    /// The targets.
    pub fn targets(&self) -> &[NoticeTarget] {
        &self.0
    }

    /// All triggers of the targets, each once.
    pub fn triggers(&self) -> BTreeSet<Trigger> {
        self.0.iter().flat_map(|target| target.on.iter().copied()).collect()
    }
}

impl Setting for NoticeTargets {
    fn expected() -> String {
        format!("a list of 1 to {MAX_ENTRIES} tables (docs/notices.md); in a variable or a file of its own, as JSON")
    }

    const EXAMPLE: &'static str = "[{ ntfy = \"https://ntfy.sh/a-long-random-topic\", \
                                   on = [\"webhook\", \"approval\", { payment_above_millisats = 100000000 }] }]";
    const SECRET: bool = true;

    fn read(given: &RawValue) -> Result<Self, String> {
        let entries = tables::<Self>(given)?;
        if entries.is_empty() || entries.len() > MAX_ENTRIES {
            return Err(unfit::<Self>());
        }
        read_each(&entries, target, |one, other| one.id() == other.id(), "another entry has the same address").map(Self)
    }

    fn show(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|target| target.address.to_string()).collect();
        format!("{SET} ({})", names.join(", "))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    ntfy: Option<String>,
    token: Option<String>,
    nostr: Option<String>,
    webhook: Option<String>,
    secret: Option<String>,
    on: Vec<Value>,
}

fn target(entry: &Value) -> Result<NoticeTarget, String> {
    let wrong =
        "it must be a table of `on`, a list, and of texts: `ntfy` (and `token`), `nostr`, or `webhook` (and `secret`)";
    let Ok(Entry { ntfy, token, nostr, webhook, secret, on }) = Entry::deserialize(entry) else {
        return Err(wrong.to_owned());
    };
    let address = match (ntfy, token, nostr, webhook, secret) {
        (Some(url), token, None, None, None) => {
            let token = token.map(|token| read::<ApiToken>("token", token)).transpose()?;
            let url = Some(read::<WebhookUrl>("ntfy", url)?).filter(is_topic);
            let url = url.ok_or("`ntfy` must be the URL of a topic, such as https://ntfy.sh/a-long-random-topic")?;
            NoticeAddress::Ntfy { url, token: token.map(|token| token.secret().clone()) }
        }
        (None, None, Some(key), None, None) => {
            let key = self::key(&key).ok_or("`nostr` must be an npub or 64 hex characters of a public key")?;
            NoticeAddress::Nostr(key)
        }
        (None, None, None, Some(url), secret) => {
            let secret = secret.map(|secret| read::<WebhookSecret>("secret", secret)).transpose()?;
            let secret = secret.map(|secret| secret.secret().clone());
            NoticeAddress::Webhook { url: read("webhook", url)?, secret }
        }
        _ => return Err(wrong.to_owned()),
    };
    Ok(NoticeTarget { address, on: triggers(&on)? })
}

fn read<T: Setting>(name: &str, text: String) -> Result<T, String> {
    T::read(&RawValue::Text(text)).map_err(|problem| format!("`{name}` {problem}"))
}

/// Whether a URL has a path, and no more: the topic is its last part.
fn is_topic(url: &WebhookUrl) -> bool {
    let url = url.expose().parse::<Url>();
    let is_plain = |url: &Url| url.username().is_empty() && url.password().is_none() && url.query().is_none();
    url.is_ok_and(|url| is_plain(&url) && !url.path().ends_with('/'))
}

fn triggers(given: &[Value]) -> Result<Vec<Trigger>, String> {
    let triggers: Option<Vec<Trigger>> = given.iter().map(Trigger::read).collect();
    let is_right = |triggers: &Vec<Trigger>| {
        let different: BTreeSet<_> = triggers.iter().collect();
        (1..=MAX_TRIGGERS).contains(&triggers.len()) && different.len() == triggers.len()
    };
    triggers.filter(is_right).ok_or_else(|| {
        let words = PLAIN.map(|trigger| format!("\"{}\"", trigger.name())).join(", ");
        let limits = WITH_LIMIT.map(|trigger| format!("{{ {} = N }}", trigger(1).name())).join(", ");
        format!("`on` must be a list of 1 to {MAX_TRIGGERS} of {words}, {limits}, each once")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::toml_value::default_value;

    fn read(entries: &str) -> Result<NoticeTargets, String> {
        NoticeTargets::read(&default_value(&format!("[{entries}]")))
    }

    #[test]
    fn targets_are_read_and_shown_without_their_secrets() {
        let targets = read(
            "{ ntfy = \"https://ntfy.example/hunter1\", token = \"tk_hunter2\", on = [\"webhook\"] }, \
             { nostr = \"npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6\", on = [\"relay\", \"webhook\"] }, \
             { webhook = \"https://a.example/hunter3\", secret = \"hunter4\", on = [{ balance_below_millisats = 5 }] }",
        )
        .unwrap();
        let triggers = [Trigger::Webhook, Trigger::Relay, Trigger::BalanceBelow(5)];
        assert_eq!(targets.triggers(), BTreeSet::from(triggers));
        assert_eq!(
            targets.show(),
            "set (ntfy https://ntfy.example, nostr npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6, \
             webhook https://a.example)"
        );
        assert!(!format!("{targets:?}").contains("hunter"), "{targets:?}");
        assert!(NoticeTargets::read(&default_value(NoticeTargets::EXAMPLE)).is_ok());
    }

    #[test]
    fn errors_name_the_entry_and_the_key_and_no_value() {
        let good = "{ ntfy = \"https://hunter1.example/hunter2\", on = [\"webhook\"] }";
        for (entries, problem) in [
            (String::new(), "must be a list of 1 to 20 tables"),
            (format!("{good}, {good}"), "entry 2: another entry has the same address"),
            (good.replace("ntfy", "matrix"), "entry 1: it must be a table of `on`"),
            (good.replace("on =", "nostr = \"hunter\", on ="), "it must be a table"),
            (good.replace("/hunter2", "/"), "`ntfy` must be the URL of a topic"),
            (good.replace("https://", "https://hunter3@"), "`ntfy` must be the URL of a topic"),
            (good.replace("https:", "ftp:"), "`ntfy` must be an http(s) URL"),
            (good.replace("on =", "token = \"a\\nhunter: b\", on ="), "`token` must be 1 to 1000 visible ASCII"),
            (good.replace("on =", "secret = \"hunter\", on ="), "it must be a table"),
            (good.replace("ntfy", "nostr"), "`nostr` must be an npub or 64 hex characters"),
            (good.replace("ntfy", "webhook").replace("on =", "secret = \"whsec_hunter\", on ="), "`secret` must be"),
            (good.replace("on =", "of ="), "it must be a table"),
            (good.replace("webhook", "hunter"), "`on` must be a list of 1 to 20 of \"webhook\", \"approval\""),
            (good.replace("[\"webhook\"]", "[]"), "`on` must be"),
            (good.replace("[\"webhook\"]", "[\"webhook\", \"webhook\"]"), "`on` must be"),
            (good.replace("\"webhook\"", "{ balance_below_millisats = 0 }"), "`on` must be"),
        ] {
            let error = read(&entries).unwrap_err();
            assert!(error.contains(problem), "{entries}: {error}");
            assert!(!error.contains("hunter"), "{error}");
        }
    }
}
