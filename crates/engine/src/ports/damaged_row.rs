/// A row that cannot be read, or holds impossible values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DamagedRow {
    /// Its table.
    pub table: Table,
    /// Its key: a stream, `<stream>:<index>`, or another key in hex. Never the row's content.
    pub id: String,
}

/// The tables whose damaged rows the engine sets aside.
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
    /// Responses to requests with an idempotency key.
    IdempotencyRecords,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 6] =
        [Self::Operations, Self::Events, Self::Outbox, Self::Deliveries, Self::UserRelays, Self::IdempotencyRecords];

    /// Its name in the database, in logs and in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Events => "events",
            Self::Outbox => "outbox",
            Self::Deliveries => "deliveries",
            Self::UserRelays => "user_relays",
            Self::IdempotencyRecords => "answers",
        }
    }
}
