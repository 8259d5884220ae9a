//! See `usher_fuzz::invoice`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| usher_fuzz::invoice(bytes));
