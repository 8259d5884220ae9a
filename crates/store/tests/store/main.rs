//! The stores: one conformance suite, what only one of them can get wrong, and copies from one to the other.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test's helpers too

mod conformance;
mod copy;
mod postgres;
mod sqlite;
mod subjects;

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
