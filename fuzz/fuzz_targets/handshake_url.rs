//! See `usher_fuzz::handshake_url`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| usher_fuzz::handshake_url(bytes));
