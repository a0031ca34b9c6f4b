//! Images, sounds and other bytes of results, saved to files.
//!
//! Named by digest and a known extension, never by anything that a server chose.

use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use data_encoding::{BASE64, BASE64_NOPAD, HEXLOWER};
use sha2::{Digest, Sha256};

/// Saves base64 text under `dir` and gives the path.
pub(crate) fn base64(dir: &Path, text: &str, mime: Option<&str>) -> Result<PathBuf, NotSaved> {
    let bytes = decode(text).ok_or(NotSaved::Base64)?;
    let io = |error: io::Error| NotSaved::Io { dir: dir.to_owned(), why: error.to_string() };
    bytes_to(dir, &bytes, mime).map_err(io)
}

/// Why bytes were not saved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotSaved {
    #[error("its data is no base64")]
    Base64,
    #[error("it cannot be saved in `{}`: {why}", dir.display())]
    Io { dir: PathBuf, why: String },
}

/// Whether something can be saved in this folder, which is made for it: asked before a call, so
/// that none is made whose result is lost.
pub(crate) fn check(dir: &Path) -> Result<(), NotSaved> {
    let io = |error: io::Error| NotSaved::Io { dir: dir.to_owned(), why: error.to_string() };
    folder(dir).and_then(|()| tempfile::tempfile_in(dir)).map(drop).map_err(io)
}

fn folder(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let plain = |text: &[u8]| match text.iter().rposition(|byte| *byte != b'=') {
        Some(last) if !text.len().is_multiple_of(4) => BASE64_NOPAD.decode(&text[..=last]).ok(),
        _ => BASE64.decode(text).ok(),
    };
    plain(text.as_bytes()).or_else(|| {
        let packed: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        plain(&packed)
    })
}

fn bytes_to(dir: &Path, bytes: &[u8], mime: Option<&str>) -> io::Result<PathBuf> {
    folder(dir)?;
    let digest = HEXLOWER.encode(&Sha256::digest(bytes));
    let path = dir.join(format!("{}.{}", &digest[..16], extension(mime)));
    let mut file = tempfile::NamedTempFile::new_in(dir)?; // 0600, and never half a file at `path`
    file.write_all(bytes)?;
    file.persist(&path)?;
    Ok(path)
}

/// The extension of a media type that we know.
fn extension(mime: Option<&str>) -> &'static str {
    let mime = mime.unwrap_or_default().split(';').next().unwrap_or_default();
    match mime.trim().to_ascii_lowercase().as_str() {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "image/bmp" => "bmp",
        "image/tiff" => "tiff",
        "image/avif" => "avif",
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/ogg" => "ogg",
        "audio/flac" => "flac",
        "audio/mp4" => "m4a",
        "audio/webm" => "weba",
        "video/mp4" => "mp4",
        "video/webm" => "webm",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "application/gzip" => "gz",
        "text/csv" => "csv",
        "text/plain" => "txt",
        "text/markdown" => "md",
        _ => "bin", // whatever it is, its name must not say how to run it
    }
}

#[cfg(test)]
mod tests {
    use super::{NotSaved, base64, check};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_is_named_by_what_is_in_it_and_is_ours_alone() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("results");
        let path = base64(&dir, "aGVs\nbG8=", Some("Image/PNG; x=../..")).unwrap();
        assert_eq!(path, dir.join("2cf24dba5fb0a30e.png"));
        assert_eq!(std::fs::read(&path).unwrap(), b"hello");
        let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&dir), mode(&path)), (0o700, 0o600));
        assert_eq!(
            base64(&dir, "aGVsbG8", Some("../sh")).unwrap(),
            dir.join("2cf24dba5fb0a30e.bin")
        );
        assert!(matches!(base64(&dir, "no base64!", None), Err(NotSaved::Base64)));
        let file = dir.join("2cf24dba5fb0a30e.png");
        assert!(matches!(base64(&file, "aGVsbG8", None), Err(NotSaved::Io { .. })));
        assert!(matches!(check(&file), Err(NotSaved::Io { .. })));
        assert!(check(&dir).is_ok() && check(&home.path().join("a/b")).is_ok());
        assert_eq!(std::fs::read_dir(home.path().join("a/b")).unwrap().count(), 0);
    }
}
