//! Who asks: a parameter of everything that can be asked of the engine, down to where an operation is read
//! ([`RequestedStore`](super::requested_store::RequestedStore)) or money is spent.

use std::sync::Arc;

use super::request_errors::StartError;
use crate::access::{Scope, Terms};

/// Who started an operation: an opaque number that is stored with it. `None` where one could be: nobody who has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(pub i64);

/// Who asks: what they may see, do and spend.
#[derive(Clone, Debug)]
pub enum Requester {
    /// The service itself, or who has its token: sees and may do everything, and spends within the service's own budget. Pages are
    /// served, timers and workers run, and commands are carried out in its name.
    Service,
    /// A key of the API.
    Key {
        /// That of the operations that it starts.
        origin: Origin,
        /// What it may do.
        terms: Arc<Terms>,
    },
}

impl Requester {
    /// That of the operations that they start.
    pub const fn origin(&self) -> Option<Origin> {
        match self {
            Self::Service => None,
            Self::Key { origin, .. } => Some(*origin),
        }
    }

    /// Whether they may see what is of this origin. Who may see what is of nobody may see everything.
    pub fn sees(&self, of: Option<Origin>) -> bool {
        match self {
            Self::Service => true,
            Self::Key { origin, terms } => !terms.own_streams_only || of == Some(*origin),
        }
    }

    /// Passes when they may do what needs `scope`, beside what their request's endpoint needs.
    pub(crate) fn need(&self, scope: Scope) -> Result<(), StartError> {
        match self {
            Self::Key { terms, .. } if !terms.scopes.contains(&scope) => Err(StartError::ScopeMissing(scope)),
            Self::Service | Self::Key { .. } => Ok(()),
        }
    }

    /// The most millisats that the operations that they start may spend within a day.
    pub(crate) fn spending_limit(&self) -> Option<u64> {
        match self {
            Self::Service => None,
            Self::Key { terms, .. } => terms.daily_budget_millisats,
        }
    }
}
