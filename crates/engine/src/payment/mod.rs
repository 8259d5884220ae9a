//! Payments: requested from users, made by the service itself, and invoices requested from users.

pub(crate) mod approval;
pub(crate) mod books;
mod commit_spending;
pub(crate) mod configured_rules;
pub(crate) mod expiry;
pub(crate) mod invoice_request;
pub(crate) mod link;
pub(crate) mod on_chain;
pub(crate) mod operation;
pub(crate) mod outgoing;
pub(crate) mod page;
pub(crate) mod pay_invoice;
pub(crate) mod refund;
pub(crate) mod renew;
pub(crate) mod spending_budget;
pub(crate) mod start;

use std::sync::Arc;

use tokio::sync::{Mutex, RwLock};
use usher_protocol::bolt11::Network;

use self::approval::waiting::WaitingPayments;
use self::link::open_payments::OpenPayments;
use self::refund::address_lookups::AddressLookups;
use self::spending_budget::SpendingBudget;
use crate::field_value_checks::FieldChecks;
use crate::kernel::core::Core;
use crate::kernel::event_feed::EventFeed;
use crate::kernel::request_errors::StartError;
use crate::kernel::starter::Starter;
use crate::page_rules::PageRules;
use crate::ports::{LightningNode, Payees};

/// Payments, and invoices requested from users.
pub struct Payments {
    pub(crate) core: Core,
    pub(crate) starter: Arc<Starter>,
    pub(crate) feed: Arc<EventFeed>,
    pub(crate) checks: Arc<FieldChecks>,
    pub(crate) budget: Arc<SpendingBudget>,
    pub(crate) waiting: Arc<WaitingPayments>,
    /// Read-locked from taking an allocation of the budget to the commit of its payment.
    pub(crate) starting: RwLock<()>,
    /// Locked from summing up a payment's refunds to the commit of a further one.
    pub(crate) refunding: Mutex<()>,
    pub(crate) payees: Option<Arc<dyn Payees>>,
    pub(crate) address_lookups: AddressLookups,
    /// Further invoices of payments.
    pub(crate) open_renewals: OpenPayments,
    pub(crate) pages: Arc<PageRules>,
    pub(crate) network: Network,
    pub(crate) has_lightning: bool,
    /// The Lightning node, if the service runs one itself.
    pub(crate) node: Option<Arc<dyn LightningNode>>,
}

impl Payments {
    const fn need_lightning(&self) -> Result<(), StartError> {
        if self.has_lightning { Ok(()) } else { Err(StartError::NoLightning) }
    }
}
