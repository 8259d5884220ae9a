//! Encryption and decryption of backups with [age](https://age-encryption.org/v1).

use std::io::{self, Read, Write};
use std::str::FromStr as _;

use age::stream::{StreamReader, StreamWriter};
use age::{DecryptError, Decryptor, Encryptor, IdentityFile, scrypt, x25519};
use secrecy::SecretString;

use crate::error::ReadError;

/// The default work factor of the program age: scrypt with N = 2^18, which takes 256 MiB of memory and about a second.
const WORK_FACTOR: u8 = 18;

/// Highest work factor accepted when reading: 1 GiB of memory.
const MAX_WORK_FACTOR: u8 = 20;

/// Prefix of an age file.
const AGE: &[u8] = b"age-encryption.org/";

/// Prefix of the last line of an age header.
const HEADER_END: &[u8] = b"\n--- ";

/// Longest header, in bytes. The `age` crate parses the header again from its start for each byte, so its time is quadratic.
const MAX_HEADER: u64 = 16 * 1024;

/// Most recipients of a backup: each takes about 100 bytes of the header.
const MAX_RECIPIENTS: usize = 100;

/// Prefix of an ASCII-armored age file.
const ARMOR: &[u8] = b"-----BEGIN AGE";

/// How a backup is encrypted.
pub enum Protection {
    /// With a passphrase.
    Passphrase(SecretString),
    /// To the public keys of age identities.
    Recipients(Vec<x25519::Recipient>),
    /// No encryption.
    None,
}

/// Why recipients are invalid.
#[derive(Debug, thiserror::Error)]
pub enum RecipientError {
    /// The text is not a public key of age.
    #[error("not an age recipient: it must be a public key that begins with age1, as `age-keygen` prints it")]
    NoKey,
    /// There are too many recipients.
    #[error("at most {MAX_RECIPIENTS} recipients")]
    TooMany,
}

/// The text is not an identity file of age.
#[derive(Debug, thiserror::Error)]
#[error("it has no age identity: a line that begins with AGE-SECRET-KEY-1, as `age-keygen` writes it")]
pub struct IdentityError;

impl Protection {
    /// Encrypts to these public keys (`age1…`).
    ///
    /// # Errors
    /// When a key is invalid, or there are too many.
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

pub(crate) enum Sealed<W: Write> {
    Plain(W),
    Encrypted(StreamWriter<W>),
}

impl<W: Write> Sealed<W> {
    /// Writes the last block, without which the file cannot be decrypted.
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

/// The key of a backup.
pub enum Key {
    /// The passphrase.
    Passphrase(SecretString),
    /// Secret keys of age.
    Identities(Vec<Box<dyn age::Identity>>),
    /// None: the backup is not encrypted.
    None,
}

impl Key {
    /// Parses the text of an identity file of age.
    ///
    /// # Errors
    /// When it is invalid or contains no secret key.
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

/// Converts an error without its text, which is written for users of the program age.
fn failed(error: DecryptError) -> ReadError {
    match error {
        DecryptError::Io(error) => ReadError::Unreadable(error),
        DecryptError::ExcessiveWork { .. } => ReadError::ExcessiveWork,
        _ => ReadError::Unreadable(io::Error::new(io::ErrorKind::InvalidData, "its age header is invalid")),
    }
}

/// The reader of a backup. Decrypted bytes are authenticated.
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
