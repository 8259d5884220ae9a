//! A counterpart is away while the service's own backend shall pay, and the service is restarted meanwhile or is not: it ends
//! as it would have without.

use std::time::Duration;

use serde_json::json;
use usher_faults::lightning::{LookupLie, Memory};
use usher_faults::proxy::BreakableProxy;
use usher_protocol::bolt11::Invoice;
use usher_sandbox::lightning::{InvoiceTerms, Method};
use usher_sandbox::wallet::Policy;

use super::fixture::{Fixture, statuses};
use crate::harness::LONG;

/// As in the reports: long enough for the service to have tried.
const AWAY: Duration = Duration::from_secs(2);

/// What becomes of the service while its wallet's relay is away.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Nothing,
    Stopped,
    Killed,
    /// Killed when it was about to connect for the first time.
    KilledAtStart,
}

/// A service that reaches its wallet through a line that can be cut.
async fn behind_a_line() -> (Fixture, BreakableProxy) {
    let mut fixture = Fixture::open().await;
    let proxy = BreakableProxy::start(fixture.relay.url().trim_start_matches("ws://").to_owned()).await.unwrap();
    fixture.usher.set("WALLET__NWC__URL", fixture.wallet.keys().url(&[proxy.ws_url()]));
    fixture.crash().await;
    (fixture, proxy)
}

impl Fixture {
    /// Requests the payment of a new invoice; returns the stream and the invoice.
    async fn owe(&self, amount: u64) -> (String, Invoice) {
        let payee = self.network.open_account("payee", 0);
        let invoice = payee.make_invoice(&InvoiceTerms::of(amount)).unwrap();
        (self.start("/invoices/pay", &json!({"invoice": invoice.as_str()})).await, invoice)
    }

    async fn paid_once(&self, stream: &str, invoice: &Invoice, what: impl std::fmt::Debug) {
        assert_eq!(statuses(&self.api().finished(stream).await), ["paid"], "{what:?}");
        assert_eq!(self.network.executed(invoice.payment_hash()), 1, "{what:?}");
        assert!(self.network.totals().add_up());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_was_accepted_while_the_relay_was_away_is_made_when_it_is_back() {
    for ending in [Ending::Nothing, Ending::Stopped, Ending::Killed, Ending::KilledAtStart] {
        let (mut fixture, proxy) = behind_a_line().await;
        proxy.cut();
        if matches!(ending, Ending::KilledAtStart) {
            fixture.usher.restart().await;
        }
        let (stream, invoice) = fixture.owe(5_000).await;
        match ending {
            Ending::Nothing => tokio::time::sleep(AWAY).await,
            Ending::Stopped => {
                tokio::time::sleep(AWAY).await;
                fixture.usher.stop().await;
            }
            Ending::Killed => {
                tokio::time::sleep(AWAY).await;
                fixture.usher.kill();
            }
            Ending::KilledAtStart => fixture.usher.kill(),
        }
        proxy.restore();
        if !matches!(ending, Ending::Nothing) {
            fixture.usher.spawn();
            fixture.usher.ready().await.expect("it starts");
        }
        fixture.paid_once(&stream, &invoice, ending).await;
        assert_eq!(fixture.wallet.metrics().calls(Method::PayInvoice), 1, "{ending:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_was_asked_for_while_the_wallet_was_away_is_made_when_it_is_back() {
    for memory in [Memory::Lasting, Memory::WhileRunning, Memory::None] {
        for ending in [Ending::Nothing, Ending::Stopped, Ending::Killed] {
            let mut fixture = Fixture::open().await;
            fixture.wallet.set(|behaviour| {
                behaviour.memory = memory;
                behaviour.lookups = Some(LookupLie::ForgetPayments);
                behaviour.notifications = false;
            });
            fixture.wallet.stop().await;
            let (stream, invoice) = fixture.owe(5_000).await;
            tokio::time::sleep(AWAY).await;
            match ending {
                Ending::Stopped => {
                    fixture.usher.stop().await;
                    fixture.usher.spawn();
                }
                Ending::Killed => {
                    fixture.usher.kill();
                    fixture.usher.spawn();
                }
                Ending::Nothing | Ending::KilledAtStart => {}
            }
            fixture.usher.ready().await.expect("it runs");
            fixture.wallet.start_again().await;
            fixture.paid_once(&stream, &invoice, (memory, ending)).await;
            assert_eq!(
                fixture.wallet.metrics().calls(Method::PayInvoice),
                1,
                "the same request: {memory:?} {ending:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_is_asked_to_pay_as_soon_as_the_wallet_is_back() {
    let fixture = Fixture::open().await;
    let user = fixture.user(Policy::silent()).await;
    fixture.wallet.stop().await;
    let before = fixture.relay.metrics().events_of(23_194);
    fixture.ask(&user, 1_000).await;
    // Asked in vain, and then probed.
    fixture.relay.wait_for(LONG, |metrics| metrics.events_of(23_194) >= before + 2).await.expect("asked");
    fixture.wallet.start_again().await;
    user.next_request(LONG).await.expect("a request");
    assert_eq!(fixture.wallet.metrics().executed(Method::MakeInvoice), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_over_a_line_that_is_cut_again_and_again_is_made_once() {
    for memory in [Memory::Lasting, Memory::None] {
        let (fixture, proxy) = behind_a_line().await;
        fixture.wallet.set(|behaviour| {
            behaviour.memory = memory;
            behaviour.latency = Duration::from_millis(300);
        });
        let mut owed = Vec::new();
        for round in 0..8_u64 {
            owed.push(fixture.owe(1_000 + round).await);
            tokio::time::sleep(Duration::from_millis(41 * round)).await;
            if round % 2 == 0 {
                proxy.cut()
            } else {
                proxy.swallow()
            }
            owed.push(fixture.owe(2_000 + round).await);
            tokio::time::sleep(Duration::from_millis(300)).await;
            proxy.restore();
        }
        for (stream, invoice) in &owed {
            fixture.paid_once(stream, invoice, memory).await;
        }
    }
}
