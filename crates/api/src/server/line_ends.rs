//! How the lines of a request's head end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The head of the request has a line that ends with a line feed alone. A request extension.
///
/// The HTTP library takes such lines (RFC 9112 section 2.2 lets it). What stands before us may not, and then both disagree
/// about where one header ends and the next begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BareLineFeed;

/// Follows the first head of a connection.
///
/// Only the first: where a later one begins is known only to whoever reads the bodies between them.
#[derive(Debug, Default)]
pub(super) struct LineEnds {
    previous: u8,
    /// Bytes of the line so far, without its end.
    line: usize,
    /// A line that is not empty has been seen: the next empty one ends the head.
    begun: bool,
    over: bool,
    bare: Arc<AtomicBool>,
}

impl LineEnds {
    /// Tells of a bare line feed by `bare`.
    pub(super) fn new(bare: Arc<AtomicBool>) -> Self {
        Self { bare, ..Self::default() }
    }

    /// These bytes came.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.over {
                return;
            }
            match (self.previous, *byte) {
                (b'\r', b'\n') => {
                    self.over = self.begun && self.line == 0;
                    self.begun |= self.line > 0;
                    self.line = 0;
                }
                (_, b'\n') => {
                    self.over = true;
                    self.bare.store(true, Ordering::Relaxed);
                }
                (_, b'\r') => {}
                _ => self.line = self.line.saturating_add(1),
            }
            self.previous = *byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_bare(text: &str) -> bool {
        let whole = LineEnds::default();
        let bare = Arc::clone(&whole.bare);
        let mut pieces = LineEnds::new(Arc::clone(&bare));
        text.as_bytes().chunks(3).for_each(|piece| pieces.read(piece));
        bare.load(Ordering::Relaxed)
    }

    #[test]
    fn lines_of_the_head_end_with_both() {
        for text in [
            "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n{\n}\n\n",
            "POST / HTTP/1.1\r\n\r\n\n\n\n",
            "GET / HTTP/1.1\r\nHos",
        ] {
            assert!(!is_bare(text), "{text:?}");
        }
        for text in [
            "GET / HTTP/1.1\nHost: x\n\n",
            "GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n\n",
            "\nGET / HTTP/1.1\r\n\r\n",
        ] {
            assert!(is_bare(text), "{text:?}");
        }
    }
}
