//! The source of all randomness in a simulation process: one seed.
//!
//! Beside the engine's own port for randomness there is chance that no port controls: the order of `HashMap`s, the branch
//! that `tokio::select!` looks at first, nonces, WebSocket masks, the back-off of connections. All of it begins with the C
//! library's `getrandom`, which the standard library links weakly so that a program may put its own in its place. This one
//! does: the same seed gives the same bytes. It is in no binary but the simulation's.
//!
//! Some libraries ask the kernel itself. What they get becomes nonces, on which no order depends.
//!
//! Tokio and the standard library also count within a process and within a thread. Hence one process for each seed, and
//! one new thread in it ([`crate::runner`]).

use std::cell::Cell;

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(0) };
}

/// From now on the randomness of this thread is that of `seed`.
pub fn seed(seed: u64) {
    STATE.set(seed.wrapping_mul(0x2545_F491_4F6C_DD1D).wrapping_add(1));
}

/// SplitMix64.
fn next() -> u64 {
    let state = STATE.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
    STATE.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Takes the place of the C library's.
///
/// # Safety
/// As the C library's: `buffer` is valid for writes of `length` bytes.
#[allow(unsafe_code)] // the one place: a symbol that the standard library looks for
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut u8, length: usize, _flags: u32) -> isize {
    // SAFETY: guaranteed by the caller.
    let bytes = unsafe { std::slice::from_raw_parts_mut(buffer, length) };
    for chunk in bytes.chunks_mut(8) {
        let random = next().to_le_bytes();
        for (byte, random) in chunk.iter_mut().zip(random) {
            *byte = random;
        }
    }
    isize::try_from(length).unwrap_or(isize::MAX)
}
