//! The age file around a backup.

use std::io::{self, Read, Write};
use std::str::FromStr as _;

use age::stream::{StreamReader, StreamWriter};
use age::{DecryptError, Decryptor, Encryptor, IdentityFile, scrypt, x25519};
use secrecy::SecretString;

use crate::read::ReadError;

/// The cost of a guess of the passphrase, as the program age has it: scrypt with N = 2^18, which is 256 MiB of memory and
/// about a second.
const WORK_FACTOR: u8 = 18;

/// Highest cost that is accepted when reading: 1 GiB.
const MAX_WORK_FACTOR: u8 = 20;

/// How an age file begins.
const AGE: &[u8] = b"age-encryption.org/";

/// How the last line of an age header begins.
const HEADER_END: &[u8] = b"\n--- ";

/// Longest header that is read, in bytes: `age` reads it from its beginning again for each of them.
const MAX_HEADER: u64 = 16 * 1024;

/// Most recipients of a backup: each takes about 100 bytes of its header.
const MAX_RECIPIENTS: usize = 100;

/// How an ASCII-armored age file begins (PEM).
const ARMOR: &[u8] = b"-----BEGIN AGE";

/// Who can read a backup.
pub enum Protection {
    /// Whoever has the passphrase.
    Passphrase(SecretString),
    /// Whoever has one of the identities of these recipients.
    Recipients(Vec<x25519::Recipient>),
    /// Everybody.
    None,
}

/// Why something is no recipient.
#[derive(Debug, thiserror::Error)]
pub enum RecipientError {
    /// It is another text.
    #[error("not an age recipient: it must be a public key that begins with age1, as `age-keygen` prints it")]
    NoKey,
    /// There are too many.
    #[error("at most {MAX_RECIPIENTS} recipients")]
    TooMany,
}

/// Why something is no file of identities.
#[derive(Debug, thiserror::Error)]
#[error("it has no age identity: a line that begins with AGE-SECRET-KEY-1, as `age-keygen` writes it")]
pub struct IdentityError;

impl Protection {
    /// The owners of these public keys (`age1…`).
    ///
    /// # Errors
    /// When one of them is no such key, or they are too many.
    pub fn of_recipients(keys: &[String]) -> Result<Self, RecipientError> {
        if keys.len() > MAX_RECIPIENTS {
            return Err(RecipientError::TooMany);
        }
        let parsed = keys.iter().map(|key| x25519::Recipient::from_str(key.trim()));
        parsed.collect::<Result<_, _>>().map(Self::Recipients).map_err(|_| RecipientError::NoKey)
    }

    pub(crate) fn wrap<W: Write>(&self, out: W) -> io::Result<Sealed<W>> {
        let encryptor = match self {
            Self::None => return Ok(Sealed::Plain(out)),
            Self::Passphrase(passphrase) => {
                let mut recipient = scrypt::Recipient::new(passphrase.clone());
                recipient.set_work_factor(WORK_FACTOR);
                Encryptor::with_recipients(std::iter::once(&recipient as _))
            }
            Self::Recipients(recipients) => {
                Encryptor::with_recipients(recipients.iter().map(|recipient| recipient as _))
            }
        };
        encryptor.map_err(io::Error::other)?.wrap_output(out).map(Sealed::Encrypted)
    }
}

/// What a backup is written through.
pub(crate) enum Sealed<W: Write> {
    Plain(W),
    Encrypted(StreamWriter<W>),
}

impl<W: Write> Sealed<W> {
    /// Writes what is left, without which the file cannot be read.
    pub(crate) fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(out) => Ok(out),
            Self::Encrypted(stream) => stream.finish(),
        }
    }
}

impl<W: Write> Write for Sealed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Encrypted(stream) => stream.flush(),
        }
    }
}

/// What opens a backup.
pub enum Key {
    /// The passphrase.
    Passphrase(SecretString),
    /// Secret keys of age.
    Identities(Vec<Box<dyn age::Identity>>),
    /// Nothing: it is not encrypted.
    None,
}

impl Key {
    /// The secret keys in the text of an identity file of age.
    ///
    /// # Errors
    /// When it has none, or something else.
    pub fn of_identity_file(text: &str) -> Result<Self, IdentityError> {
        let file = IdentityFile::from_buffer(text.as_bytes()).map_err(|_| IdentityError)?;
        let identities = file.into_identities().map_err(|_| IdentityError)?;
        if identities.is_empty() { Err(IdentityError) } else { Ok(Self::Identities(identities)) }
    }

    pub(crate) fn unwrap<R: Read>(&self, mut input: R) -> Result<Opened<R>, ReadError> {
        let mut start = Vec::new();
        (&mut input).take(AGE.len() as u64).read_to_end(&mut start).map_err(ReadError::Unreadable)?;
        let is_encrypted = start == AGE;
        if start.starts_with(ARMOR) {
            return Err(ReadError::Armored);
        }
        if !is_encrypted {
            return match self {
                Self::None => Ok(Opened::Plain(io::Cursor::new(start).chain(input))),
                Self::Passphrase(_) | Self::Identities(_) => Err(ReadError::NotEncrypted),
            };
        }
        (&mut input).take(MAX_HEADER - AGE.len() as u64).read_to_end(&mut start).map_err(ReadError::Unreadable)?;
        if !start.windows(HEADER_END.len()).any(|part| part == HEADER_END) {
            return Err(ReadError::LongHeader);
        }
        let decryptor = Decryptor::new(io::Cursor::new(start).chain(input)).map_err(failed)?;
        let stream = match (decryptor.is_scrypt(), self) {
            (true, Self::Passphrase(passphrase)) => {
                let mut identity = scrypt::Identity::new(passphrase.clone());
                identity.set_max_work_factor(MAX_WORK_FACTOR);
                decryptor.decrypt(std::iter::once(&identity as _))
            }
            (false, Self::Identities(identities)) => decryptor.decrypt(identities.iter().map(|identity| &**identity)),
            (true, _) => return Err(ReadError::NeedsPassphrase),
            (false, _) => return Err(ReadError::NeedsIdentity),
        };
        stream.map(Opened::Encrypted).map_err(|error| match (error, self) {
            (DecryptError::NoMatchingKeys | DecryptError::DecryptionFailed, Self::Identities(_)) => {
                ReadError::WrongIdentity
            }
            (DecryptError::NoMatchingKeys | DecryptError::DecryptionFailed, _) => ReadError::WrongPassphrase,
            (error, _) => failed(error),
        })
    }
}

/// The error's own text is not used: it is made for the program age.
fn failed(error: DecryptError) -> ReadError {
    match error {
        DecryptError::Io(error) => ReadError::Unreadable(error),
        DecryptError::ExcessiveWork { .. } => ReadError::ExcessiveWork,
        _ => ReadError::Unreadable(io::Error::new(io::ErrorKind::InvalidData, "its age header is invalid")),
    }
}

/// What a backup is read through. Everything that it returns was authenticated.
pub(crate) enum Opened<R: Read> {
    Plain(Buffered<R>),
    Encrypted(StreamReader<Buffered<R>>),
}

type Buffered<R> = io::Chain<io::Cursor<Vec<u8>>, R>;

impl<R: Read> Read for Opened<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(buffer),
            Self::Encrypted(stream) => stream.read(buffer),
        }
    }
}
