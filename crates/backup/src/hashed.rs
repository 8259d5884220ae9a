use std::io::{self, Read, Write};

use sha2::{Digest as _, Sha256};

/// Hashes everything read from or written to `inner`.
pub struct Hashed<T> {
    inner: T,
    hash: Sha256,
}

impl<T> Hashed<T> {
    /// Starts an empty hash.
    pub fn new(inner: T) -> Self {
        Self { inner, hash: Sha256::new() }
    }

    /// The SHA-256 in hex.
    pub fn sha256(self) -> String {
        hex::encode(self.hash.finalize())
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
