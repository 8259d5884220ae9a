//! See `usher_fuzz::calendar`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| usher_fuzz::calendar(bytes));
