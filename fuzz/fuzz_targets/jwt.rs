//! See `usher_fuzz::jwt`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| usher_fuzz::jwt(bytes));
