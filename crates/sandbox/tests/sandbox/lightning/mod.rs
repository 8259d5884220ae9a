//! The sandbox's Lightning.

mod invalid_responses;
mod ledger;
mod network_faults;
mod nwc_crate;
mod nwc_service;
mod raw_nwc_app;

pub(crate) use raw_nwc_app::App;
