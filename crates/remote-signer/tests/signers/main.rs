//! The adapter with an independent signer over real and faulty relays, and with signers that lie.

mod bunker;
mod faulty_relays;
mod fixture;
mod hostile;
mod invitation;
mod scripted_signer;
