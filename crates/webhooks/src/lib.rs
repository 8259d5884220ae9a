//! Posts events to the app, signed.
