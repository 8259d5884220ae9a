//! All limits of this kind. Each is a row of the table in docs/limits.md, which a test compares.

use std::time::Duration;

use crate::places::{Limits, Protection, WhenFull};

/// A limit on places for one thing.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// What takes a place, as in the table.
    pub name: &'static str,
    /// Most places in total; `usize::MAX` if only a setting limits them.
    pub most: usize,
    /// A setting, and the divisor that gives this limit.
    pub part_of: Option<(&'static str, usize)>,
    /// The share of one holder.
    pub share: Share,
    /// One place in this many is reserved for the API token.
    pub kept: Option<usize>,
    /// What happens when all places are taken.
    pub when_full: WhenFull,
    /// How long a place is protected.
    pub protection: Protection,
}

/// The share of one holder.
#[derive(Clone, Copy, Debug)]
pub enum Share {
    /// All.
    All,
    /// One in this many places for a holder of this kind.
    OneIn(usize, &'static str),
    /// As many as this setting.
    Setting(&'static str),
}

/// A page without JavaScript reloads every 5 s, but a phone may meanwhile show the wallet or the signer's app.
const SEEN: Protection = Protection { after_seen: Duration::from_secs(90), longest: Duration::from_secs(300) };

/// A session ends after half an hour without activity, and at the latest after twelve hours.
const SESSION: Protection =
    Protection { after_seen: Duration::from_secs(1_800), longest: Duration::from_secs(12 * 3_600) };

const NONE: Limit = Limit {
    name: "",
    most: usize::MAX,
    part_of: None,
    share: Share::All,
    kept: None,
    when_full: WhenFull::Refuse,
    protection: Protection::NONE,
};
/// One leaked key cannot lock others out.
const OF_KEYS: Limit = Limit { share: Share::OneIn(4, "key"), kept: Some(8), ..NONE };
const OF_NETWORKS: Limit = Limit { share: Share::OneIn(8, "network"), ..NONE };
const UNUSED: Limit = Limit { when_full: WhenFull::FewerDisplace, protection: SEEN, ..OF_NETWORKS };
const SIGNERS: Limit = Limit { when_full: WhenFull::AlwaysDisplace, protection: SEEN, ..OF_NETWORKS };

const MAX_OPEN: &str = "limits.max_open_streams";

macro_rules! limits {
    ($($constant:ident = $name:literal, $limit:expr;)*) => {
        $(#[doc = $name] pub const $constant: Limit = Limit { name: $name, ..$limit };)*
        /// Every limit.
        pub const ALL: &[Limit] = &[$($constant),*];
    };
}

limits! {
    UNAUTHENTICATED_CONNECTIONS = "connections that have sent neither the token nor a key", Limit {
        part_of: Some(("limits.max_unauthenticated_connections", 1)),
        share: Share::Setting("limits.max_unauthenticated_per_address"),
        when_full: WhenFull::OldestDisplaced,
        ..NONE
    };
    AUTHENTICATED_CONNECTIONS = "connections that have sent one, and stay",
        Limit { part_of: Some(("limits.max_connections", 1)), ..OF_KEYS };
    LONG_POLLS = "long polls", Limit { part_of: Some(("limits.max_long_polls", 1)), ..OF_KEYS };
    EVENT_STREAMS = "event streams", Limit { part_of: Some(("limits.max_event_streams", 1)), ..OF_KEYS };
    WEBSOCKETS = "WebSockets", Limit { part_of: Some(("limits.max_websockets", 1)), ..OF_KEYS };
    // At about 1.5 KiB each: 150 MiB.
    WATCHED_STREAMS = "streams that WebSockets watch", Limit { most: 100_000, ..OF_KEYS };
    // Ten times what keeps group commit busy. If the store hangs, no more requests than this accumulate.
    CHANGES = "requests that change something, of keys", Limit { most: 4_096, ..OF_KEYS };
    // An unresponsive mint holds each until the request times out, with a connection: about 130 KB.
    MINT_CALLS = "requests that wait for a mint", Limit { most: 1_024, ..OF_KEYS };
    UNUSED_LOGINS = "logins in which nobody has named a key, at reusable logins",
        Limit { most: 20_000, part_of: Some((MAX_OPEN, 4)), ..UNUSED };
    UNUSED_LOGINS_OF_CLIENTS = "the same, of OpenID Connect",
        Limit { most: 2_000, part_of: Some((MAX_OPEN, 4)), ..UNUSED };
    // Few; not displaced by logins of users.
    UNUSED_LOGINS_OF_OPERATORS = "the same, of operators",
        Limit { most: 500, part_of: Some((MAX_OPEN, 4)), ..UNUSED };
    ASKING_LOGINS = "logins at reusable logins in which a wallet is asked",
        Limit { part_of: Some((MAX_OPEN, 4)), when_full: WhenFull::OldestDisplaced, ..NONE };
    SIGNER_REQUESTS = "requests to remote signers (as many again to those of earlier logins)",
        Limit { most: 4_096, ..SIGNERS };
    SIGNERS_AWAITING_SCAN = "of these, such as are to open a code", Limit { most: 2_000, ..SIGNERS };
    // Each may need three connections to relays.
    SIGNERS_AWAITING_BUNKER = "of these, such as are at a pasted address", Limit { most: 128, ..SIGNERS };
    OPERATOR_LOGINS = "logins begun on the operators' page, and what is left of them",
        Limit { most: 2_000, when_full: WhenFull::AlwaysDisplace, ..OF_NETWORKS };
    // The configuration allows at most a hundred operators.
    OPERATOR_SESSIONS = "sessions of operators", Limit {
        most: 800,
        share: Share::OneIn(100, "operator"),
        when_full: WhenFull::AlwaysDisplace,
        protection: SESSION,
        ..NONE
    };
    LINK_PAYMENTS = "payments at links that are open, or ended unpaid within three hours",
        Limit { part_of: Some((MAX_OPEN, 4)), share: Share::OneIn(32, "network"), ..NONE };
    PAYMENTS_OF_LINKS = "the same, by link", Limit { share: Share::OneIn(2, "link"), ..LINK_PAYMENTS };
    // An unresponsive wallet holds up no more than these.
    LINK_INVOICES = "invoices for links that are being made", Limit { most: 64, ..OF_NETWORKS };
    REFUND_LOOKUPS = "look-ups of Lightning addresses for refunds", Limit { most: 16, ..OF_NETWORKS };
    LOOKUPS_OF_REFUNDS = "the same, by refund", Limit { most: 16, share: Share::OneIn(16, "refund"), ..NONE };
}

impl Limit {
    /// The limits for this value of the setting; a part of it is at least one.
    pub const fn of(&self, setting: usize) -> Limits {
        let total = match self.part_of {
            Some((_, one_in)) if one_in > 1 && setting < one_in => 1,
            Some((_, one_in)) => setting / one_in,
            None => setting,
        };
        let total = if total < self.most { total } else { self.most };
        let share = match self.share {
            Share::OneIn(one_in, _) => total / one_in,
            Share::All | Share::Setting(_) => total,
        };
        let reserved = match self.kept {
            Some(one_in) => total / one_in,
            None => 0,
        };
        Limits { total, share, reserved, when_full: self.when_full, protection: self.protection }
    }

    /// The limits without a setting.
    pub const fn fixed(&self) -> Limits {
        self.of(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The heading of the table and the line under it.
    const HEADING: &str = "| what takes a place | places | at most | when full, goes |\n| --- | --- | --- | --- |\n";

    fn part(one_in: usize) -> String {
        match one_in {
            1 => "all".to_owned(),
            2 => "half".to_owned(),
            4 => "a quarter".to_owned(),
            8 => "an eighth".to_owned(),
            one_in => format!("one in {one_in}"),
        }
    }

    fn number(number: usize) -> String {
        if number < 1_000 { number.to_string() } else { format!("{},{:03}", number / 1_000, number % 1_000) }
    }

    fn number_of(time: Duration) -> String {
        number(usize::try_from(time.as_secs()).unwrap())
    }

    fn row(limit: &Limit) -> String {
        let whom = if let Share::OneIn(_, whom) = limit.share { whom } else { "network" };
        let setting = limit.part_of.map(|(setting, one_in)| match one_in {
            1 => format!("`{setting}`"),
            one_in => format!("{} of `{setting}`", part(one_in)),
        });
        let places = match (setting, limit.most) {
            (Some(setting), usize::MAX) => setting,
            (Some(setting), most) => format!("{setting}, {} at most", number(most)),
            (None, most) => number(most),
        };
        let share = match limit.share {
            Share::All => String::new(),
            Share::OneIn(one_in, whom) => format!("{} per {whom}", part(one_in)),
            Share::Setting(setting) => format!("`{setting}` per address"),
        };
        let who = match limit.when_full {
            WhenFull::Refuse => "the newcomer".to_owned(),
            WhenFull::OldestDisplaced => "the oldest".to_owned(),
            WhenFull::FewerDisplace => "of a larger network, or idle".to_owned(),
            WhenFull::AlwaysDisplace if limit.protection.longest.is_zero() => {
                "of the same or a larger network".to_owned()
            }
            WhenFull::AlwaysDisplace => format!("of the same or a larger {whom}, idle first"),
        };
        format!("| {} | {places} | {share} | {who} |\n", limit.name)
    }

    #[test]
    fn documentation_has_every_limit() {
        let document = include_str!("../../../docs/limits.md");
        let rows: String = ALL.iter().map(row).collect();
        let (_, table) = document.split_once(HEADING).unwrap();
        let (table, _) = table.split_once("\n\n").unwrap();
        assert_eq!(format!("{table}\n"), rows, "docs/limits.md differs:\n{rows}");
        let of_keys = |limit: &&Limit| matches!(limit.share, Share::OneIn(4, "key"));
        assert!(ALL.iter().all(|limit| limit.kept == of_keys(&limit).then_some(8)));
        assert!(document.contains("Where a key has a quarter, an eighth is kept for the token."));
        for Protection { after_seen, longest } in [SEEN, SESSION] {
            let idle = format!("not seen for {} s or is {} s old", number_of(after_seen), number_of(longest));
            assert!(document.contains(&idle), "docs/limits.md does not say: {idle}");
        }
    }

    #[test]
    fn part_of_a_setting_is_bounded_and_never_nothing() {
        let totals = [1, 8, 1_000_000].map(|setting| UNUSED_LOGINS.of(setting).total);
        assert_eq!(totals, [1, 2, 20_000]);
        let Limits { total, share, reserved, .. } = WEBSOCKETS.of(16);
        assert_eq!((total, share, reserved), (16, 4, 2));
        assert_eq!((OPERATOR_SESSIONS.fixed().total, OPERATOR_SESSIONS.fixed().share), (800, 8));
    }
}
