//! See `lightning::nwc_notification`.
#![no_main]

#[path = "../src/lightning.rs"]
#[allow(dead_code)]
mod lightning;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lightning::nwc_notification(bytes));
