//! Finds where WebSocket frames begin and end in a stream of bytes (RFC 6455, section 5.2), without decoding them.

/// Longest header of a frame: two bytes, eight of length, four of mask.
const LONGEST_HEADER: usize = 14;

/// Follows the bytes that a relay sends, beginning with its response to the handshake.
#[derive(Debug)]
pub(crate) struct FrameTracker {
    state: State,
    /// A data message has begun and has not ended.
    fragmented: bool,
    /// Data messages that have ended.
    messages: u64,
}

#[derive(Debug)]
enum State {
    /// In the HTTP head, which ends with the first empty line after a line that is not empty. As in the parser of the
    /// handshake, a line may end without a carriage return.
    Head { line: usize, begun: bool },
    /// In the header of a frame.
    Header { bytes: [u8; LONGEST_HEADER], have: usize },
    /// In the payload of a data frame or, when `control`, of another.
    Payload { left: u64, last: bool, control: bool },
}

impl State {
    const HEADER: Self = Self::Header { bytes: [0; LONGEST_HEADER], have: 0 };
}

impl FrameTracker {
    pub(crate) const fn new() -> Self {
        Self { state: State::Head { line: 0, begun: false }, fragmented: false, messages: 0 }
    }

    /// Whether a data message is arriving.
    pub(crate) const fn within_message(&self) -> bool {
        self.fragmented || matches!(self.state, State::Payload { control: false, .. })
    }

    /// How many data messages have ended.
    pub(crate) const fn messages(&self) -> u64 {
        self.messages
    }

    /// Reads received bytes; returns how many frames began in them that are not a whole message: control frames and fragments.
    pub(crate) fn read(&mut self, mut bytes: &[u8]) -> u32 {
        let mut costly = 0_u32;
        while let Some((&first, rest)) = bytes.split_first() {
            match &mut self.state {
                State::Head { line, begun } => {
                    bytes = rest;
                    match first {
                        b'\n' if *line == 0 && *begun => self.state = State::HEADER,
                        b'\n' => *line = 0,
                        b'\r' => {}
                        _ => {
                            *line += 1;
                            *begun = true;
                        }
                    }
                }
                State::Header { bytes: header, have } => {
                    bytes = rest;
                    if let Some(place) = header.get_mut(*have) {
                        *place = first;
                    }
                    *have += 1;
                    if let Some(frame) = Frame::parse(header, *have) {
                        costly = costly.saturating_add(u32::from(!frame.is_whole()));
                        self.begin(&frame);
                    }
                }
                State::Payload { left, last, control } => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    bytes = bytes.get(here..).unwrap_or_default();
                    *left -= here as u64;
                    if *left == 0 {
                        if *last && !*control {
                            self.fragmented = false;
                            self.messages += 1;
                        }
                        self.state = State::HEADER;
                    }
                }
            }
        }
        costly
    }

    fn begin(&mut self, frame: &Frame) {
        let control = frame.opcode >= 8;
        if !control {
            let ended = frame.last && frame.length == 0;
            self.fragmented = !ended;
            self.messages += u64::from(ended);
        }
        self.state = match frame.length {
            0 => State::HEADER,
            left => State::Payload { left, last: frame.last, control },
        };
    }
}

/// The header of a frame.
struct Frame {
    opcode: u8,
    last: bool,
    length: u64,
}

impl Frame {
    /// Parses a header of which `have` bytes were received; `None` when it is not complete.
    fn parse(bytes: &[u8; LONGEST_HEADER], have: usize) -> Option<Self> {
        let [first, second, a, b, c, d, e, f, g, h, ..] = *bytes;
        let (extended, length) = match second & 0x7f {
            126 => (2, u64::from(u16::from_be_bytes([a, b]))),
            127 => (8, u64::from_be_bytes([a, b, c, d, e, f, g, h])),
            short => (0, u64::from(short)),
        };
        let mask = if second & 0x80 == 0 { 0 } else { 4 };
        (have >= 2 + extended + mask).then_some(Self { opcode: first & 0x0f, last: first & 0x80 != 0, length })
    }

    /// Whether it is a whole message: text or binary, first and last.
    const fn is_whole(&self) -> bool {
        self.last && matches!(self.opcode, 1 | 2)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// After the head, the frames of these bytes.
    fn read(head: &[u8], frames: &[u8]) -> (u32, bool) {
        let mut tracker = FrameTracker::new();
        let costly = tracker.read(&[head, frames].concat());
        (costly, tracker.within_message())
    }

    #[test]
    fn frames_are_counted_only_after_the_http_handshake() {
        for head in [&b"HTTP/1.1 101 x\r\na: b\r\n\r\n"[..], b"HTTP/1.1 101 x\na: b\n\n", b"\r\n\nHTTP/1.1 101 x\r\n\n"]
        {
            assert_eq!(read(head, b"\x89\x00"), (1, false), "{head:?}");
        }
    }

    #[test]
    fn frames_of_every_length_are_tracked() {
        let head = b"HTTP/1.1 101 x\r\n\r\n";
        assert_eq!(read(head, b""), (0, false));
        assert_eq!(read(head, b"\x81\x00\x82\x01x\x81\x00"), (0, false), "whole messages");
        assert_eq!(read(head, b"\x01\x00\x89\x00\x80\x00"), (3, false), "two fragments and a ping between them");
        assert_eq!(read(head, b"\x01\x00\x8a\x01"), (2, true));
        let medium = [&b"\x81\x7e\x01\x00"[..], &[0x81; 256], b"\x89\x00"].concat();
        assert_eq!(read(head, &medium), (1, false));
        let long = [&b"\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00"[..], &vec![0; 65_536], b"\x89\x00"].concat();
        assert_eq!(read(head, &long), (1, false));
        assert_eq!(read(head, b"\x81\xff\x80\x00\x00\x00\x00\x00\x00\x00abcd"), (0, true), "longer than anything");
        assert_eq!(read(head, b"\x81\x82maskab\x89\x00"), (1, false));
    }

    proptest! {
        #[test]
        fn result_does_not_depend_on_how_bytes_are_split(
            frames in prop::collection::vec((0u8..16, any::<bool>(), 0usize..300), 0..20),
            cuts in prop::collection::vec(1usize..40, 1..20),
        ) {
            let mut bytes = b"HTTP/1.1 101 x\r\n\r\n".to_vec();
            let mut costly = 0;
            for (opcode, last, length) in frames {
                costly += u32::from(!(last && matches!(opcode, 1 | 2)));
                bytes.extend([opcode | if last { 0x80 } else { 0 }]);
                if length < 126 {
                    bytes.extend([length as u8]);
                } else {
                    bytes.extend([126]);
                    bytes.extend((length as u16).to_be_bytes());
                }
                bytes.extend(vec![0x81; length]);
            }
            let (mut tracker, mut seen, mut rest, mut cuts) = (FrameTracker::new(), 0, &bytes[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let (here, later) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                seen += tracker.read(here);
                rest = later;
            }
            prop_assert_eq!(seen, costly);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            FrameTracker::new().read(&bytes);
        }
    }
}
