/// A row that cannot be read, or holds impossible values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DamagedRow {
    /// Its table.
    pub table: Table,
    /// Its key: a stream, `<stream>:<index>`, or another key in hex. Never the row's content.
    pub id: String,
}

usher_protocol::words! {
    /// The tables whose damaged rows the engine sets aside.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Table {
        /// Operations and their states.
        Operations = "operations",
        /// Events of streams.
        Events = "events",
        /// Outgoing messages.
        Outbox = "outbox",
        /// Deliveries to the webhook.
        Deliveries = "deliveries",
        /// Relays that users prefer.
        UserRelays = "user_relays",
        /// Responses to requests with an idempotency key.
        IdempotencyRecords = "answers",
    }
}
