//! See `usher_fuzz::wallet_message`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| usher_fuzz::wallet_message(bytes));
