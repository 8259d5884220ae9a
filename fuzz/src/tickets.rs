//! What the fuzz target of the ticket wallet does with its bytes: tokens that users and apps hand in.
//!
//! It may not panic, and what it reads is within the limits. The tests of the tickets crate
//! (`crates/tickets/tests/wallet/fuzz_targets.rs`) drive the same function, so that it runs without cargo-fuzz, too.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use usher_engine::ports::Token;
use usher_tickets::read_token;

/// The first byte chooses what the rest is: a token's text, the CBOR of a token of version 4, or the JSON of one of version 3.
pub fn token(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let text = match choice % 3 {
        0 => match std::str::from_utf8(rest) {
            Ok(text) => text.to_owned(),
            Err(_) => return,
        },
        1 => format!("cashuB{}", URL_SAFE_NO_PAD.encode(rest)),
        _ => format!("cashuA{}", URL_SAFE_NO_PAD.encode(rest)),
    };
    match read_token(&Token(text.clone())) {
        Ok(info) => {
            assert!(info.amount > 0 && (1..=500).contains(&info.proofs), "{info:?}");
            assert!(info.mint_url.starts_with("http") && !info.mint_url.ends_with('/'), "{info:?}");
            assert_eq!(read_token(&Token(format!(" cashu:{text}\n"))), Ok(info), "the same with its scheme");
        }
        Err(fault) => assert!(!fault.to_string().is_empty()),
    }
}
