//! See `lightning::nwc_response`.
#![no_main]

#[path = "../src/lightning.rs"]
#[allow(dead_code)]
mod lightning;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lightning::nwc_response(bytes));
