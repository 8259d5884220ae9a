//! The console in browsers, against the real service in test mode, whose clock can be moved.

mod actions;
mod attacks;
mod stage;
mod window;
