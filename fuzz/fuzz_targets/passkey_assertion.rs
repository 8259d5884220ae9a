//! See `passkey::passkey_assertion`.
#![no_main]

#[path = "../src/passkey.rs"]
#[allow(dead_code)]
mod passkey;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| passkey::passkey_assertion(bytes));
