//! The texts of the pages, made of `crates/texts`.
#![deny(dead_code)]

include!(concat!(env!("OUT_DIR"), "/texts.rs"));
