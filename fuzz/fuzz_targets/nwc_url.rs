//! See `lightning::nwc_url`.
#![no_main]

#[path = "../src/lightning.rs"]
#[allow(dead_code)]
mod lightning;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lightning::nwc_url(bytes));
