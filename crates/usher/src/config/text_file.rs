//! Text files with settings or secrets.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Largest configuration or secret file read, in bytes.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Reads a regular file of limited size; a named pipe could block its reader forever.
pub fn read_file(path: &Path) -> std::io::Result<String> {
    fail::fail_point!("read-configuration-file");
    let file = open_without_waiting(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    let read = file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_FILE_BYTES {
        return Err(std::io::Error::other("it is larger than 1 MiB"));
    }
    Ok(text)
}

/// Opens a file for reading, without waiting for the writer of a named pipe.
fn open_without_waiting(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    options.open(path)
}
