//! The app's direct requests for tickets: mint, redeem, withdraw from the service's own balance.
//!
//! These requests wait for the mint, within the ticket wallet's time limit. Each is one job, whose id is derived from
//! the request's idempotency key: after a crash or a time-out the same request continues the same job, and gets the
//! same token.
//!
//! | crash or time-out … | the same request with its key | without a key |
//! | --- | --- | --- |
//! | before the job is stored | starts it | nothing has happened |
//! | after that, before the mint has replied | continues it | the ticket wallet ends the job; a minted token joins its balance |
//! | while the mint's quote is being paid | waits for the same payment: an invoice is paid once | the same, once it is paid |
//! | after the quote is paid | gets the token: the job mints it by itself | the token joins the balance |
//! | after the job has ended, before the response has arrived | gets the result of the job, which is stored | a token is lost; what was redeemed is in the balance |

use crate::kernel::open_set::OpenSet;
use std::sync::Arc;
use std::time::Duration;

use super::minting_job::RequestedMint;
use super::quote_payment::QuotePayer;
use crate::field_value_checks::FieldChecks;
use crate::kernel::core::Core;
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::{StartError, TicketCallError};
use crate::kernel::starter::Starter;
use crate::kernel::ticket_metrics::{TicketCallKind, TicketMetrics};
use crate::ports::{
    MintTerms, Minted, ReceiveTerms, TicketBalance, TicketError, TicketJobId, TicketWallet, Token, WithdrawTerms,
};
use crate::request_body;
use crate::request_body::field_reader::MAX_TICKETS;
use crate::request_body::{
    Aliased, CashuToken, Description, MintAuth, MintUrl, StaticAuthToken, TicketAmount, TicketUnit,
};
use crate::{FieldErrors, Requester};

request_body! {
    /// Mints a ticket.
    #[derive(Clone, Debug)]
    pub struct MintTicket, MintTicketDraft = "MintTicketRequest", example {
        "mint_url": "https://mint.example",
        "unit": "multi",
        "amount": 1,
    } {
        /// The mint: an `http` or `https` URL.
        mint_url: MintUrl,
        /// The unit: `sat`, or one of the mint's own, such as `multi`. Upper and lower case are the same.
        unit: TicketUnit,
        /// How much, in the unit.
        amount: TicketAmount,
        /// The token by which the mint knows who may mint (header `Clear-auth`), if it wants one.
        auth as "static_token": Aliased<Option<MintAuth>, StaticAuthToken>,
        /// For the mint's records. At most 639 bytes of UTF-8.
        description: Option<Description>,
    }
}

request_body! {
    /// Redeems a ticket.
    #[derive(Clone, Debug)]
    pub struct BurnTicket, BurnTicketDraft = "BurnTicketRequest", example {
        "mint_url": "https://mint.example",
        "unit": "multi",
        "token": "cashuBo2FteBtodHRwczovL21pbnQuZXhhbXBsZS5jb21hdWVtdWx0aWF0gaJhaUgArSaLR8qGYGFwgaNhYQFhc3hA",
    } {
        /// The mint that the token must be of: an `http` or `https` URL.
        mint_url: MintUrl,
        /// The unit that it must be in.
        unit: TicketUnit,
        /// The token: version 3 (`cashuA…`) or 4 (`cashuB…`), also as a `cashu:` URI.
        token: CashuToken,
        /// The token by which the mint knows who may use it (header `Clear-auth`), if it wants one.
        auth as "static_token": Aliased<Option<MintAuth>, StaticAuthToken>,
    }
}

request_body! {
    /// Takes a token out of the service's own balance.
    #[derive(Clone, Debug)]
    pub struct WithdrawTicket, WithdrawTicketDraft = "WithdrawTicketRequest", example {
        "mint_url": "https://mint.example",
        "unit": "sat",
        "amount": 21,
    } {
        /// The mint: an `http` or `https` URL.
        mint_url: MintUrl,
        /// The unit.
        unit: TicketUnit,
        /// What the token is worth, in the unit. The balance must also cover the mint's fee.
        amount: TicketAmount,
        /// The token by which the mint knows who may use it (header `Clear-auth`), if it wants one.
        auth as "static_token": Aliased<Option<MintAuth>, StaticAuthToken>,
    }
}

/// Tickets. Minting, burning, withdrawing and reclaiming wait for a mint, within the ticket wallet's time limit.
pub struct Tickets {
    pub(crate) core: Core,
    pub(crate) starter: Arc<Starter>,
    pub(crate) checks: Arc<FieldChecks>,
    pub(crate) wallet: Option<Arc<dyn TicketWallet>>,
    pub(crate) payer: QuotePayer,
    pub(crate) calls: Arc<TicketMetrics>,
    pub(crate) open: Arc<OpenSet>,
    pub(crate) send_ttl: Duration,
}

impl Tickets {
    /// Refuses a mint whose tokens could never be verified, before a user is asked for one.
    pub(crate) fn check_mint(&self, mint_url: &str) -> Result<(), StartError> {
        match self.wallet.as_ref().map(|wallet| wallet.check_mint(mint_url)) {
            Some(Err(TicketError::AddressNotAllowed(reason))) => {
                let detail = format!("is not allowed (cashu.allow_private_mints): {reason}");
                Err(StartError::invalid("/mint_url", detail))
            }
            _ => Ok(()),
        }
    }

    /// Mints a token. If the mint requires payment of its quote, the Lightning backend pays it.
    pub async fn mint(
        &self,
        requester: &Requester,
        request: MintTicket,
        once: Option<IdempotentRequest<Token>>,
    ) -> Result<Token, TicketCallError> {
        refuse_amount(request.amount)?;
        let wallet = Arc::clone(self.wallet()?);
        let id = self.job_id(once.as_ref());
        let MintTicket { mint_url, unit, amount, description, auth } = request;
        let terms = MintTerms { mint_url, unit, amount, description, auth, repeatable: once.is_some() };
        let job = RequestedMint { wallet, metrics: Arc::clone(&self.calls), id, terms, requester: requester.clone() };
        let token = match job.ask().await? {
            Minted::Token(token) => token,
            Minted::PaymentNeeded { invoice, .. } => self.payer.mint_paid(&invoice, &job).await?,
        };
        self.respond(once, token).await
    }

    /// Redeems a token into the service's own balance; returns the received amount, without the mint's fee.
    pub async fn burn(
        &self,
        requester: &Requester,
        request: BurnTicket,
        once: Option<IdempotentRequest<u64>>,
    ) -> Result<u64, TicketCallError> {
        let wallet = self.wallet()?;
        // Refused before a job is stored.
        wallet.read_token(&request.token).map_err(TicketError::Token)?;
        let id = self.job_id(once.as_ref());
        let BurnTicket { mint_url, unit, token, auth } = request;
        let terms = ReceiveTerms { token, mint_url, unit, at_least: 0, auth };
        let received = wallet.redeem(id, &terms, requester.origin()).await;
        self.calls.count(TicketCallKind::Redeem, &received);
        self.respond(once, received?).await
    }

    /// Refuses a withdrawal by a key whose payments are limited by approvals or a budget: withdrawals do not count for
    /// these, and many small ones would circumvent them.
    ///
    /// # Errors
    /// [`TicketCallError::TokenRequired`].
    pub fn check_withdrawal(&self, requester: &Requester) -> Result<(), TicketCallError> {
        if requester.origin().is_some() && self.payer.payments.budget.is_limited() {
            return Err(TicketCallError::TokenRequired);
        }
        Ok(())
    }

    /// Takes a token out of the service's own balance.
    pub async fn withdraw(
        &self,
        requester: &Requester,
        request: WithdrawTicket,
        once: Option<IdempotentRequest<Token>>,
    ) -> Result<Token, TicketCallError> {
        refuse_amount(request.amount)?;
        let id = self.job_id(once.as_ref());
        let WithdrawTicket { mint_url, unit, amount, auth } = request;
        let terms = WithdrawTerms { mint_url, unit, amount, auth, repeatable: once.is_some() };
        let token = self.wallet()?.withdraw(id, &terms, requester.origin()).await;
        self.calls.count(TicketCallKind::Withdraw, &token);
        self.respond(once, token?).await
    }

    /// The balances of the service's own ticket wallet, by mint and unit.
    pub async fn balances(&self) -> Result<Vec<TicketBalance>, TicketCallError> {
        self.wallet()?.balances().await.map_err(TicketCallError::from)
    }

    /// The numbers of requests to the ticket wallet, by kind and result.
    pub fn calls(&self) -> Vec<(&'static str, &'static str, u64)> {
        self.calls.values()
    }

    pub(super) fn wallet(&self) -> Result<&Arc<dyn TicketWallet>, StartError> {
        self.wallet.as_ref().ok_or(StartError::NoTicketWallet)
    }

    /// The job of an idempotent request, which a repetition finds again; otherwise a new one.
    fn job_id<T>(&self, once: Option<&IdempotentRequest<T>>) -> TicketJobId {
        // The key covers method, path and idempotency key. With another body it is a job with other terms.
        once.map_or_else(|| self.core.ids.ticket_job(), |once| TicketJobId::derive("request", &once.key.0))
    }

    async fn respond<T>(&self, once: Option<IdempotentRequest<T>>, result: T) -> Result<T, TicketCallError> {
        if let Some(once) = once {
            self.starter.idempotency.keep(&once, &result).await?;
        }
        Ok(result)
    }
}

/// Checks the amount of a ticket in its unit.
pub(crate) fn check_amount(amount: Option<u64>, errors: &mut FieldErrors) {
    match amount {
        Some(0) => errors.add("/amount", "must be more than zero"),
        Some(amount) if amount > MAX_TICKETS => errors.add("/amount", format!("must be at most {MAX_TICKETS}")),
        Some(_) | None => {}
    }
}

fn refuse_amount(amount: u64) -> Result<(), StartError> {
    let mut errors = FieldErrors::default();
    check_amount(Some(amount), &mut errors);
    errors.finish(Some(())).map_err(StartError::Invalid)
}
