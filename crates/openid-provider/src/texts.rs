//! The texts of the pages, generated from `crates/texts`.
#![deny(dead_code)]

include!(concat!(env!("OUT_DIR"), "/texts.rs"));
