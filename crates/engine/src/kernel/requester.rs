//! The requester: a parameter of all requests to the engine, down to where an operation is read
//! ([`RequestedStore`](super::requested_store::RequestedStore)) or money is spent.

use std::sync::Arc;

use super::request_errors::StartError;
use crate::Origin;
use crate::access::{Role, Scope, Terms};

/// The requester, which determines what may be seen, done and spent.
#[derive(Clone, Debug)]
pub enum Requester {
    /// The service itself, or the API token: sees and may do everything, within the service's budget. Used by pages,
    /// timers, workers and commands.
    Service,
    /// An API key.
    Key {
        /// The origin of the operations that it starts.
        origin: Origin,
        /// Its permissions and limits.
        terms: Arc<Terms>,
    },
}

impl Requester {
    /// The origin of the operations that they start.
    pub const fn origin(&self) -> Option<Origin> {
        match self {
            Self::Service => None,
            Self::Key { origin, .. } => Some(*origin),
        }
    }

    /// Whether they may see what has this origin. Without an origin, only the service may.
    pub fn sees(&self, of: Option<Origin>) -> bool {
        match self {
            Self::Service => true,
            Self::Key { origin, terms } => !terms.own_streams_only || of == Some(*origin),
        }
    }

    /// Whether they see tickets in events, which are money to whoever has them: of operators, only administrators do.
    pub(crate) fn sees_tickets(&self) -> bool {
        match self {
            Self::Service => true,
            Self::Key { terms, .. } => terms.role.is_none_or(|role| role == Role::Admin),
        }
    }

    /// Requires `scope` in addition to the scope of the request's endpoint.
    pub(crate) fn need(&self, scope: Scope) -> Result<(), StartError> {
        match self {
            Self::Key { terms, .. } if !terms.scopes.contains(&scope) => Err(StartError::ScopeMissing(scope)),
            Self::Service | Self::Key { .. } => Ok(()),
        }
    }

    /// Most millisats that their operations may spend within a day.
    pub(crate) fn spending_limit(&self) -> Option<u64> {
        match self {
            Self::Service => None,
            Self::Key { terms, .. } => terms.daily_budget_millisats,
        }
    }
}
