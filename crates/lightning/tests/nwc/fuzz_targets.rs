//! Runs the fuzz targets with generated and damaged input, so that they run with every test run.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};
use usher_protocol::message::Preimage;
use usher_sandbox::lightning::{InvoiceTerms, LightningNetwork};

#[path = "../../../../fuzz/src/lightning.rs"]
#[allow(missing_docs, unreachable_pub)]
mod targets;

fn target(name: &str) -> targets::Target {
    targets::TARGETS.into_iter().find(|(known, _)| *known == name).map(|(_, target)| target).unwrap()
}

/// A transaction with everything that NIP-47 has.
fn transaction(direction: &str, state: &str) -> Value {
    let preimage = Preimage::from_bytes(targets::PREIMAGE);
    json!({
        "type": direction, "state": state, "invoice": "lnbcrt1…", "description": "two teas", "metadata": {},
        "preimage": preimage.to_hex(), "payment_hash": preimage.payment_hash().to_string(), "amount": 1_000,
        "fees_paid": 2, "created_at": 1_700_000_000, "expires_at": 1_700_003_600, "settled_at": 1_700_000_060,
    })
}

/// Valid input for each target.
static SEEDS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let shop = LightningNetwork::new().open_account("shop", 0);
    let invoice = shop.make_invoice(&InvoiceTerms::of(1_000).described("two teas")).unwrap();
    let made = json!({"invoice": invoice.as_str(), "payment_hash": invoice.payment_hash().to_string()});
    let info =
        json!({"alias": "shop", "network": "regtest", "methods": ["get_info", "pay_invoice"], "notifications": []});
    let preimage = Preimage::from_bytes(targets::PREIMAGE).to_hex();
    let results = [
        ("make_invoice", made),
        ("pay_invoice", json!({"preimage": preimage, "fees_paid": 2})),
        ("get_balance", json!({"balance": 1_000})),
        ("get_info", info),
        ("lookup_invoice", transaction("incoming", "settled")),
        ("lookup_invoice", transaction("incoming", "pending")),
        ("lookup_invoice", transaction("outgoing", "settled")),
        ("lookup_invoice", transaction("outgoing", "failed")),
    ];
    let mut seeds: Vec<(&str, String)> = Vec::new();
    for (method, result) in results {
        seeds.push(("nwc_response", json!({"result_type": method, "error": null, "result": result}).to_string()));
    }
    for code in ["RATE_LIMITED", "NOT_FOUND", "INTERNAL"] {
        let error = json!({"code": code, "message": "not now"});
        seeds.push(("nwc_response", json!({"result_type": "pay_invoice", "error": error, "result": null}).to_string()));
    }
    for (kind, direction) in [("payment_received", "incoming"), ("payment_sent", "outgoing")] {
        let told = json!({"notification_type": kind, "notification": transaction(direction, "settled")});
        seeds.push(("nwc_notification", told.to_string()));
    }
    let announced = "pay_invoice get_balance notifications\nnip44_v2 nip04\npayment_received payment_sent";
    seeds.push(("nwc_announcement", announced.to_owned()));
    let (key, secret) = ("b8".repeat(32), "71".repeat(32));
    let query = format!("relay=wss%3A%2F%2Frelay.one&relay=ws://127.0.0.1:7000/x&secret={secret}&lud16=me%40x.y");
    seeds.push(("nwc_connection_uri", format!("nostr+walletconnect://{key}?{query}")));
    seeds.push(("nwc_connection_uri", format!("nostr+walletconnect:{key}?{query}")));
    seeds
});

#[test]
fn seeds_pass_and_every_target_has_one() {
    for (name, seed) in SEEDS.iter() {
        target(name)(seed.as_bytes());
    }
    for (name, _) in targets::TARGETS {
        assert!(SEEDS.iter().any(|(seeded, _)| *seeded == name), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// A piece is cut out, and another put in its place.
    #[test]
    fn damaged_seeds(
        seed in 0..SEEDS.len(),
        damages in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..12, ".{0,8}|null|-1|1e999|\\[\\[\\[\\["), 1..4),
    ) {
        let (name, text) = &SEEDS[seed];
        let mut bytes = text.as_bytes().to_vec();
        for (at, length, more) in damages {
            let at = at.index(bytes.len() + 1);
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, more.bytes());
        }
        target(name)(&bytes);
    }

    #[test]
    fn any_text(text in any::<String>(), json in "[{}\\[\\]\":,a-z0-9\\\\]{0,80}") {
        for (_, target) in targets::TARGETS {
            target(text.as_bytes());
            target(json.as_bytes());
        }
    }
}
