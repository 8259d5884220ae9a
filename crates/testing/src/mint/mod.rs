//! Cashu mints that fail, hang, lie or forget: a proxy in front of an honest one. And one that pretends to be another one.

mod false_responses;
mod fault;
mod faulty_mint;
mod http_server;
mod impostor_mint;
mod route;

pub use false_responses::FalseResponse;
pub use fault::{Fault, Garbage};
pub use faulty_mint::{FaultyMint, MintCall};
pub use impostor_mint::ImpostorMint;
pub use route::MintRoute;
