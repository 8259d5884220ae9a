//! The sandbox's Lightning.

mod app;
mod honest;
