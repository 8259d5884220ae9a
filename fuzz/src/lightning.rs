//! What the fuzz targets of the Lightning backend do with their bytes: what a wallet says (once decrypted), and its connection
//! string.
//!
//! None may panic, and nothing may be read into a text that it does not say. The tests of the Lightning crate
//! (`crates/lightning/tests/nwc/fuzz_targets.rs`) drive the same functions, so that they run without cargo-fuzz, too. Apart from
//! `lib.rs`, which the tests of the protocol crate take in, and that crate knows nothing of Lightning backends.

use usher_engine::ports::{InvoiceStatus, LightningError, OutgoingPaymentStatus};
use usher_lightning::nwc::{Announcement, ConnectionUri, Notification, Response};
use usher_protocol::message::{PaymentHash, Preimage};

/// A target: takes any bytes.
pub type Target = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: [(&str, Target); 4] = [
    ("nwc_response", nwc_response),
    ("nwc_notification", nwc_notification),
    ("nwc_announcement", nwc_announcement),
    ("nwc_connection_uri", nwc_connection_uri),
];

/// The preimage of what is looked up.
pub const PREIMAGE: [u8; 32] = [6; 32];

/// The JSON text of an answer, read as the answer to each method.
pub fn nwc_response(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(answer) = Response::parse(text) else { return };
    let hash = Preimage::from_bytes(PREIMAGE).payment_hash();
    let (made, paid) = (answer.invoice(), answer.paid());
    let (invoice, payment) = (answer.invoice_status(hash), answer.outgoing_status(hash));
    for error in [
        made.as_ref().err(),
        paid.as_ref().err(),
        answer.balance().as_ref().err(),
        answer.info().as_ref().err(),
        invoice.as_ref().err(),
        payment.as_ref().err(),
    ] {
        is_fair(error, text);
    }
    if let Ok(made) = made {
        says(text, made.as_str());
    }
    if let Ok(InvoiceStatus::Settled(settlement)) = &invoice {
        settlement.preimage.iter().for_each(|preimage| says(text, &preimage.to_hex()));
    }
    let shown = paid.iter().chain(match &payment {
        Ok(OutgoingPaymentStatus::Paid(paid)) => Some(paid),
        _ => None,
    });
    let debug = format!("{answer:?} {answer:#?}");
    for paid in shown {
        says(text, &paid.preimage.to_hex());
        assert!(!debug.contains(&paid.preimage.to_hex()), "a preimage is shown");
    }
    if let Ok(info) = answer.info() {
        assert!(info.methods.len() <= 64 && info.methods.iter().chain(&info.alias).all(|words| is_harmless(words)));
    }
}

/// The JSON text of a notification.
pub fn nwc_notification(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(Some(notice)) = Notification::parse(text) else { return };
    let hash: PaymentHash = match &notice {
        Notification::Received(hash, settlement) => {
            settlement.preimage.iter().for_each(|preimage| says(text, &preimage.to_hex()));
            *hash
        }
        Notification::Sent(hash, paid) => {
            says(text, &paid.preimage.to_hex());
            *hash
        }
    };
    says(text, &hash.to_string());
    let _ = format!("{notice:?}");
}

/// The content of the event by which a wallet announces itself; its tags on lines of their own.
pub fn nwc_announcement(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.splitn(3, '\n');
    let announced = Announcement::read(lines.next().unwrap_or_default(), lines.next(), lines.next());
    assert!(announced.methods.len() <= 64 && announced.methods.iter().all(|method| is_harmless(method)));
    assert!(!announced.nip44 || text.contains("nip44_v2"));
    assert!(!announced.sends_notifications || text.contains("payment_received"));
}

/// The text of a connection string.
pub fn nwc_connection_uri(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match text.parse::<ConnectionUri>() {
        // Whatever was read of it, nothing is shown.
        Ok(url) => assert_eq!(format!("{url:?}"), "ConnectionUri(…)"),
        Err(error) => assert!(format!("{error}").starts_with("is not a connection string")),
    }
}

/// It is definite only when the wallet says so, in words that can be shown; that an invoice is none is ours to say.
fn is_fair(error: Option<&LightningError>, text: &str) {
    match error {
        Some(LightningError::Refused { reason, .. } | LightningError::Failed(reason)) => {
            assert!(is_harmless(reason));
            assert!(text.contains("error") || text.contains("invoice") || text.contains('\\'), "made up");
        }
        Some(LightningError::Unknown(reason)) => assert!(is_harmless(reason)),
        Some(LightningError::NotSent) => panic!("an answer came, so it was sent"),
        None => {}
    }
}

/// Whether the text has it; one that is written with escapes may have anything.
fn says(text: &str, what: &str) {
    assert!(text.to_ascii_lowercase().contains(&what.to_ascii_lowercase()) || text.contains('\\'), "made up");
}

/// Short, and without anything that a terminal or a log would take for its own.
fn is_harmless(words: &str) -> bool {
    words.chars().count() <= 500 && !words.chars().any(char::is_control)
}
