//! Detects panics of the node's threads: the library's locks are then poisoned, and further calls panic.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};

/// Whether a thread has panicked.
#[derive(Clone, Default)]
pub(crate) struct PanicGuard(Arc<AtomicBool>);

thread_local! {
    /// The guard of the node to which this thread belongs.
    static GUARD: RefCell<Option<PanicGuard>> = const { RefCell::new(None) };
}

impl PanicGuard {
    /// Watches the current thread. Panics are still reported.
    pub(crate) fn watch_this_thread(&self) {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let report = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                GUARD.with_borrow(|guard| {
                    if let Some(PanicGuard(panicked)) = guard {
                        panicked.store(true, Ordering::Release);
                    }
                });
                report(panic);
            }));
        });
        GUARD.set(Some(self.clone()));
    }

    pub(crate) fn has_panicked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_guard_of_the_thread_that_panics_notices() {
        let (broken, whole) = (PanicGuard::default(), PanicGuard::default());
        for (guard, panics) in [(&broken, true), (&whole, false)] {
            let guard = guard.clone();
            let thread = std::thread::spawn(move || {
                guard.watch_this_thread();
                assert!(!panics, "on purpose");
            });
            assert_eq!(thread.join().is_err(), panics);
        }
        assert!(broken.has_panicked());
        assert!(!whole.has_panicked());
    }
}
