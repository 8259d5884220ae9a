//! See `usher_fuzz::service_message`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| usher_fuzz::service_message(bytes));
