//! Checks the framing of every request on a connection: how the lines of its head end, and how long its body is.
//!
//! A request that two HTTP implementations delimit differently can carry a second request past a proxy (request
//! smuggling). The HTTP library accepts some such requests: lines that end with LF alone, `Transfer-Encoding: gzip,
//! chunked`, and `Transfer-Encoding` beside `Content-Length`, of which it drops one before anybody else can see both.
//! So the scanner reads the bytes of the connection before the library does. It follows the same rules where the rules
//! are clear, and refuses every request where they are not.

use std::sync::OnceLock;

/// Why the framing of a request is refused. A request extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FramingError {
    /// A line ends with LF alone (RFC 9112 section 2.2 leaves it to the recipient).
    BareLineFeed,
    /// The length of the body is given twice or is malformed (RFC 9112 section 6.3).
    AmbiguousLength,
    /// A transfer coding other than `chunked` alone (RFC 9112 section 6.1).
    TransferCoding,
}

impl FramingError {
    /// What is wrong, for the `detail` of a problem document.
    pub(crate) const fn detail(self) -> &'static str {
        match self {
            Self::BareLineFeed => "each line of a request must end with CR LF (RFC 9112 section 2.2)",
            Self::AmbiguousLength => {
                "a request must have one valid `Content-Length` or one `Transfer-Encoding`, not both (RFC 9112 section 6.3)"
            }
            Self::TransferCoding => "the only supported transfer coding is `chunked` (RFC 9112 section 6.1)",
        }
    }
}

/// The first request of a connection that must be refused; nothing after it is read. The scanner sets it, the
/// connection's service reads it.
#[derive(Debug, Default)]
pub(crate) struct RefusedRequest(OnceLock<(u64, FramingError)>);

impl RefusedRequest {
    /// Why the request with this number (from 0) must be refused.
    pub(crate) fn error(&self, number: u64) -> Option<FramingError> {
        let (refused, error) = *self.0.get()?;
        (number >= refused).then_some(error)
    }
}

/// Longest part of a line that is kept: the names and the values that matter are far shorter.
const LINE_PREFIX: usize = 64;

/// The beginning of a line, without its end.
#[derive(Debug)]
struct Line {
    prefix: [u8; LINE_PREFIX],
    length: usize,
}

impl Line {
    const EMPTY: Self = Self { prefix: [0; LINE_PREFIX], length: 0 };

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.prefix.get_mut(self.length) {
            *place = byte;
        }
        self.length = self.length.saturating_add(1);
    }

    /// The line as far as it is kept.
    fn kept(&self) -> &[u8] {
        self.prefix.get(..self.length).unwrap_or(&self.prefix)
    }

    /// The value of the header `name`, with `Err` when it is too long to be kept; `None` when this is another header.
    fn value(&self, name: &[u8]) -> Option<Result<&[u8], ()>> {
        let (found, rest) = self.kept().split_at_checked(name.len())?;
        let value = rest.strip_prefix(b":").filter(|_| found.eq_ignore_ascii_case(name))?;
        Some(if self.length > LINE_PREFIX { Err(()) } else { Ok(value.trim_ascii()) })
    }
}

/// What the header lines read so far say about the body.
#[derive(Debug, Default)]
struct BodyLength {
    content_length: Option<u64>,
    is_chunked: bool,
    error: Option<FramingError>,
}

impl BodyLength {
    fn read(&mut self, line: &Line) {
        if let Some(value) = line.value(b"content-length") {
            let is_digits = |value: &&[u8]| value.iter().all(u8::is_ascii_digit);
            let text = value.ok().filter(is_digits).and_then(|digits| std::str::from_utf8(digits).ok());
            let length = text.and_then(|digits| digits.parse().ok());
            if length.is_none() || self.content_length.is_some() || self.is_chunked {
                self.refuse(FramingError::AmbiguousLength);
            }
            self.content_length = length;
        } else if let Some(value) = line.value(b"transfer-encoding") {
            if self.content_length.is_some() || self.is_chunked {
                self.refuse(FramingError::AmbiguousLength);
            }
            if !value.is_ok_and(|coding| coding.eq_ignore_ascii_case(b"chunked")) {
                self.refuse(FramingError::TransferCoding);
            }
            self.is_chunked = true;
        }
    }

    fn refuse(&mut self, error: FramingError) {
        self.error.get_or_insert(error);
    }
}

/// What the next bytes belong to.
#[derive(Debug)]
enum State {
    /// The head of a request; its first line has begun or not.
    Head { begun: bool },
    /// A body, or the data of a chunk and the line end after it: so many bytes more.
    Skip { left: u64, chunked: bool },
    /// A line with the size of a chunk.
    ChunkSize,
    /// The lines after the last chunk.
    Trailers,
    /// No more bytes are checked.
    Refused,
}

/// Follows the requests on a connection.
#[derive(Debug)]
pub(crate) struct FramingScanner<R> {
    /// Where the refused request is noted.
    refused: R,
    /// Requests whose head is complete.
    requests: u64,
    state: State,
    after_carriage_return: bool,
    line: Line,
    body: BodyLength,
}

impl<R: AsRef<RefusedRequest>> FramingScanner<R> {
    /// Notes in `refused` which request must be refused.
    pub(crate) fn new(refused: R) -> Self {
        Self {
            refused,
            requests: 0,
            state: State::Head { begun: false },
            after_carriage_return: false,
            line: Line::EMPTY,
            body: BodyLength::default(),
        }
    }

    /// These bytes have arrived.
    pub(crate) fn read(&mut self, mut bytes: &[u8]) {
        while let Some((byte, rest)) = bytes.split_first() {
            match &mut self.state {
                State::Refused => return,
                State::Skip { left, chunked } => {
                    let skipped = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= skipped as u64;
                    bytes = bytes.get(skipped..).unwrap_or_default();
                    if *left == 0 {
                        self.state = if *chunked { State::ChunkSize } else { State::Head { begun: false } };
                    }
                }
                State::Head { .. } | State::ChunkSize | State::Trailers => {
                    bytes = rest;
                    let ends_line = std::mem::replace(&mut self.after_carriage_return, *byte == b'\r');
                    match *byte {
                        b'\n' if ends_line => self.end_line(),
                        b'\n' => self.refuse(FramingError::BareLineFeed),
                        b'\r' => {}
                        byte => self.line.push(byte),
                    }
                }
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::replace(&mut self.line, Line::EMPTY);
        match (&mut self.state, line.length) {
            // Empty lines before a request are ignored (RFC 9112 section 2.2).
            (State::Head { begun: false }, 0) => {}
            (State::Head { .. }, 0) => self.end_head(),
            (State::Head { begun: begun @ false }, _) => *begun = true,
            (State::Head { begun: true }, _) => self.body.read(&line),
            (State::ChunkSize, _) => self.begin_chunk(&line),
            (State::Trailers, 0) => self.state = State::Head { begun: false },
            (State::Trailers | State::Skip { .. } | State::Refused, _) => {}
        }
    }

    fn end_head(&mut self) {
        let BodyLength { content_length, is_chunked, error } = std::mem::take(&mut self.body);
        if let Some(error) = error {
            return self.refuse(error);
        }
        self.requests += 1;
        self.state = match content_length {
            _ if is_chunked => State::ChunkSize,
            None | Some(0) => State::Head { begun: false },
            Some(left) => State::Skip { left, chunked: false },
        };
    }

    fn begin_chunk(&mut self, line: &Line) {
        let size = line.kept().split(|byte| b"; \t".contains(byte)).next().unwrap_or_default();
        let size = std::str::from_utf8(size).ok().filter(|size| size.len() < LINE_PREFIX && !size.starts_with('+'));
        match size.and_then(|size| u64::from_str_radix(size, 16).ok()) {
            Some(0) => self.state = State::Trailers,
            // With the line end after the data.
            Some(size) if size <= u64::MAX - 2 => self.state = State::Skip { left: size + 2, chunked: true },
            // The library refuses the body. This refuses the bytes after it, in case the library reads them as a request.
            Some(_) | None => self.refuse(FramingError::AmbiguousLength),
        }
    }

    /// Refuses the request whose head is being read, or in a body the next one.
    fn refuse(&mut self, error: FramingError) {
        self.state = State::Refused;
        let _ = self.refused.as_ref().0.set((self.requests, error));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    /// Which request of a connection is refused, whatever pieces its bytes arrive in.
    fn refused(text: &str) -> Option<(u64, FramingError)> {
        let outcomes: Vec<_> = [1, 3, 7, usize::MAX]
            .map(|piece| {
                let refused = Arc::new(RefusedRequest::default());
                let mut scanner = FramingScanner::new(Arc::clone(&refused));
                text.as_bytes().chunks(piece).for_each(|piece| scanner.read(piece));
                refused.0.get().copied()
            })
            .into();
        assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{text:?}: {outcomes:?}");
        outcomes[0]
    }

    const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    #[test]
    fn unambiguous_framing_is_accepted() {
        for text in [
            GET,
            "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\n\n\n\n\n\n\n",
            "POST / HTTP/1.1\r\ncontent-length:0\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=\"\r\n\n\n\n\r\n0a \r\n0123456789\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nTRANSFER-ENCODING:\tChunked \r\n\r\n1\r\n\n\r\n000\r\nA: b\r\nC: d\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Lengthy: x\r\nX-Transfer-Encoding: gzip\r\nContent-Length-: y\r\n\r\n",
        ] {
            assert_eq!(refused(&format!("{text}{GET}{text}{GET}")), None, "{text:?}");
            assert_eq!(refused(&format!("{text}{text}GET / HTTP/1.1\n")), refused_at(2 * requests(text)), "{text:?}");
        }
        let long = format!("GET / HTTP/1.1\r\nA: {}\r\nContent-Length: 1\r\n\r\n\n", "x".repeat(10_000));
        assert_eq!(refused(&long.repeat(3)), None);
    }

    fn requests(text: &str) -> u64 {
        text.matches(" HTTP/1.1").count() as u64
    }

    fn refused_at(number: u64) -> Option<(u64, FramingError)> {
        Some((number, FramingError::BareLineFeed))
    }

    #[test]
    fn ambiguous_framing_is_refused() {
        use FramingError::{AmbiguousLength, BareLineFeed, TransferCoding};
        let spaces = " ".repeat(LINE_PREFIX);
        for (text, error) in [
            ("GET / HTTP/1.1\nHost: x\n\n", BareLineFeed),
            ("GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", BareLineFeed),
            ("GET / HTTP/1.1\r\nHost: x\r\n\n", BareLineFeed),
            ("\nGET / HTTP/1.1\r\n\r\n", BareLineFeed),
            ("A / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", AmbiguousLength),
            ("A / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", AmbiguousLength),
            ("A / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", AmbiguousLength),
            ("A / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", AmbiguousLength),
            ("A / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n", AmbiguousLength),
            ("A / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", AmbiguousLength),
            ("A / HTTP/1.1\r\nContent-Length:\r\n\r\n", AmbiguousLength),
            (&format!("A / HTTP/1.1\r\nContent-Length:{spaces}1\r\n\r\n"), AmbiguousLength),
            ("A / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", TransferCoding),
            ("A / HTTP/1.1\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", TransferCoding),
            ("A / HTTP/1.1\r\nTransfer-Encoding: identity\r\n\r\n", TransferCoding),
            ("A / HTTP/1.1\r\nTransfer-Encoding:\r\n\r\n", TransferCoding),
            (&format!("A / HTTP/1.1\r\nTransfer-Encoding:{spaces}chunked\r\n\r\n"), TransferCoding),
        ] {
            assert_eq!(refused(text), Some((0, error)), "{text:?}");
            assert_eq!(refused(&format!("{GET}{GET}{text}")), Some((2, error)), "{text:?}");
        }
    }

    #[test]
    fn request_after_a_malformed_body_is_refused() {
        for body in
            ["x\r\n", "+1\r\nab", "\r\n", "1\nx\r\n", "fffffffffffffffff\r\n", "ffffffffffffffff\r\n", "0\r\nA: b\n"]
        {
            let text = format!("A / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{body}{GET}");
            assert!(refused(&text).is_some_and(|(number, _)| number == 1), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let refused = Arc::new(RefusedRequest::default());
            FramingScanner::new(refused).read(&bytes);
        }
    }
}
