//! The check of stored rows for damage.

/// Where a check of all rows continues; the default is the beginning. Only the store can interpret it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowPosition {
    /// The number of the table.
    pub table: usize,
    /// The key of the last row that was checked in it.
    pub after: Option<(Vec<u8>, i64)>,
}

/// The result of a check of some rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedRows {
    /// The damaged ones. A row may be listed more than once.
    pub damaged: Vec<DamagedRow>,
    /// Where the check continues; `None` at the end.
    pub next: Option<RowPosition>,
}

/// A row that is damaged: it cannot be read, holds impossible values, or is missing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DamagedRow {
    /// Where it is.
    pub table: Table,
    /// Its key: a stream, an event as `<stream>:<index>`, a public key or another key in hex, a setting's name, or a
    /// counter as `<mint>#<keyset>`. Never the row's content.
    pub id: String,
}

/// The tables whose rows are checked for damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// Operations and their states.
    Operations,
    /// Events of streams.
    Events,
    /// Outgoing messages.
    Outbox,
    /// Deliveries to the webhook.
    Deliveries,
    /// Relays that users prefer.
    UserRelays,
    /// Settings changed at run time.
    Settings,
    /// Responses to requests with an idempotency key.
    IdempotencyRecords,
    /// Correlation keys of operations.
    Correlations,
    /// Ids of Nostr events that were handled.
    Inbound,
    /// Jobs of the ticket wallet.
    TicketJobs,
    /// Proofs of others that jobs of the ticket wallet spend.
    TicketClaims,
    /// The ticket wallet's own proofs.
    TicketProofs,
    /// Counters from which the ticket wallet derives secrets.
    TicketCounters,
    /// Requests, sessions, codes and tokens of the OpenID Connect provider.
    OpenIdRecords,
    /// What users agreed to give clients of the OpenID Connect provider.
    OpenIdConsents,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 15] = [
        Self::Operations,
        Self::Events,
        Self::Outbox,
        Self::Deliveries,
        Self::UserRelays,
        Self::Settings,
        Self::IdempotencyRecords,
        Self::Correlations,
        Self::Inbound,
        Self::TicketJobs,
        Self::TicketClaims,
        Self::TicketProofs,
        Self::TicketCounters,
        Self::OpenIdRecords,
        Self::OpenIdConsents,
    ];

    /// Its name, as logs and metrics have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Events => "events",
            Self::Outbox => "outbox",
            Self::Deliveries => "deliveries",
            Self::UserRelays => "user_relays",
            Self::Settings => "settings",
            Self::IdempotencyRecords => "answers",
            Self::Correlations => "correlations",
            Self::Inbound => "inbound",
            Self::TicketJobs => "ticket_jobs",
            Self::TicketClaims => "ticket_claims",
            Self::TicketProofs => "ticket_proofs",
            Self::TicketCounters => "ticket_counters",
            Self::OpenIdRecords => "openid_records",
            Self::OpenIdConsents => "openid_consents",
        }
    }
}
