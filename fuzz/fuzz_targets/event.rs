//! See `usher_fuzz::event`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| usher_fuzz::event(bytes));
