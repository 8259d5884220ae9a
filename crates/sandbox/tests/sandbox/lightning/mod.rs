//! The sandbox's Lightning.

mod app;
mod books;
mod honest;
mod lies;
mod weather;

pub(crate) use app::App;
