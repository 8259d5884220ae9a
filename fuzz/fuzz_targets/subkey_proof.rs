//! See `usher_fuzz::subkey_proof`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| usher_fuzz::subkey_proof(bytes));
