//! The relay of the service's Lightning wallet is away while a payment is asked for, and the service is restarted meanwhile or is
//! not: it is paid once when the relay is back.

use std::time::Duration;

use serde_json::json;
use usher_faults::proxy::BreakableProxy;
use usher_sandbox::lightning::{InvoiceTerms, Method};

use super::fixture::{Fixture, statuses};

/// What becomes of the service while its wallet's relay is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Nothing,
    Stopped,
    Killed,
    /// Killed when it was about to connect for the first time.
    KilledAtStart,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_that_was_accepted_while_the_relay_was_away_is_made_when_it_is_back() {
    for ending in [Ending::Nothing, Ending::Stopped, Ending::Killed, Ending::KilledAtStart] {
        let mut fixture = Fixture::open().await;
        let proxy = BreakableProxy::start(fixture.relay.url().trim_start_matches("ws://").to_owned()).await.unwrap();
        fixture.usher.set("WALLET__NWC__URL", fixture.wallet.keys().url(&[proxy.ws_url()]));
        fixture.crash().await;
        proxy.cut();
        if ending == Ending::KilledAtStart {
            fixture.usher.restart().await;
        }
        let invoice = fixture.network.open_account("payee", 0).make_invoice(&InvoiceTerms::of(5_000)).unwrap();
        let stream = fixture.start("/invoices/pay", &json!({"invoice": invoice.as_str()})).await;
        if ending != Ending::KilledAtStart {
            // Long enough for the service to have tried.
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        match ending {
            Ending::Nothing => {}
            Ending::Stopped => assert!(fixture.usher.stop().await.success()),
            Ending::Killed | Ending::KilledAtStart => fixture.usher.kill(),
        }
        proxy.restore();
        if ending != Ending::Nothing {
            fixture.usher.spawn();
            fixture.usher.ready().await.expect("it starts");
        }
        assert_eq!(statuses(&fixture.api().finished(&stream).await), ["paid"], "{ending:?}");
        assert_eq!(fixture.network.executed(invoice.payment_hash()), 1, "{ending:?}");
        assert_eq!(fixture.wallet.metrics().calls(Method::PayInvoice), 1, "{ending:?}");
        assert!(fixture.network.totals().add_up());
    }
}
