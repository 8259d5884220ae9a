//! Age verification: sessions whose proof is a ticket.

pub(crate) mod open_sessions;
pub(crate) mod operation;
pub(crate) mod rules;
pub(crate) mod start;
pub(crate) mod token_request;

use std::sync::Arc;

use tokio::sync::Semaphore;
use usher_protocol::PublicKey;

use self::rules::VerificationRules;
use crate::kernel::core::Core;
use crate::kernel::open_set::OpenSet;
use crate::kernel::starter::Starter;
use crate::page_rules::PageRules;
use crate::ports::AgeVerifier;
use crate::ticket::tickets::Tickets;

/// Age verification.
pub struct Verification {
    pub(crate) core: Core,
    pub(crate) starter: Arc<Starter>,
    pub(crate) tickets: Arc<Tickets>,
    pub(crate) verifier: Option<Arc<dyn AgeVerifier>>,
    pub(crate) rules: VerificationRules,
    pub(crate) pages: Arc<PageRules>,
    pub(crate) service_key: PublicKey,
    pub(crate) permits: Semaphore,
    pub(crate) open: Arc<OpenSet>,
}
