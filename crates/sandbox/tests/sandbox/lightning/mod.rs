//! The sandbox's Lightning.

mod app;
mod books;
mod honest;
mod independent;
mod lies;
mod weather;

pub(crate) use app::App;
