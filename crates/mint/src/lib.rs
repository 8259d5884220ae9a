//! A Cashu mint for trying Usher and for its tests.
