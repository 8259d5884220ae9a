use usher_engine::ports::{StoreError, TicketError, TokenFault};

/// Why the wallet could not receive or give a ticket.
#[derive(Debug, thiserror::Error)]
pub enum TicketsError {
    #[error(transparent)]
    Ticket(#[from] TicketError),
    #[error("this wallet holds no tickets")]
    NoTickets,
    #[error("the file of tickets cannot be opened: {0}")]
    File(String),
    /// Another program has used the file for half a minute.
    #[error("the file of tickets is in use by another program")]
    InUse,
    /// The file has no ticket of this mint and unit, or tickets of several, of which one must be named.
    #[error("the wallet holds {}; name the mint and the unit", held(.0))]
    NameOne(Vec<String>),
    #[error("{0} tickets were given and are not spent yet; take some back first")]
    TooManyGiven(usize),
    #[error("no given ticket has an id that starts with {0}")]
    NoSuchTicket(String),
}

impl From<StoreError> for TicketsError {
    fn from(error: StoreError) -> Self {
        Self::Ticket(TicketError::Store(error))
    }
}

impl TicketsError {
    /// Whether another attempt gives the same error: nothing was changed, and nothing is under way.
    pub const fn is_definite(&self) -> bool {
        match self {
            // Whoever is spending it may fail.
            Self::Ticket(TicketError::Token(TokenFault::Pending)) => false,
            Self::Ticket(error) => matches!(
                error,
                TicketError::Token(_)
                    | TicketError::AddressNotAllowed(_)
                    | TicketError::Refused(_)
                    | TicketError::InsufficientFunds { .. }
                    | TicketError::OtherJob
            ),
            Self::File(_) | Self::InUse => false,
            Self::NoTickets | Self::NameOne(_) | Self::TooManyGiven(_) | Self::NoSuchTicket(_) => true,
        }
    }

    /// Whether the balance does not cover what was asked for.
    pub const fn is_insufficient(&self) -> bool {
        matches!(self, Self::Ticket(TicketError::InsufficientFunds { .. }))
    }
}

fn held(balances: &[String]) -> String {
    if balances.is_empty() { "no tickets".to_owned() } else { balances.join(", ") }
}
