//! Compresses the OpenAPI document, and the files of its viewer (`/docs`) from the archive of Swagger UI.

use std::error::Error;
use std::io::{Cursor, Read as _, Write as _};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

/// File in the archive, and the name under which the crate includes it.
const FILES: [(&str, &str); 3] = [
    ("dist/swagger-ui-bundle.js", "swagger-ui.js.gz"),
    ("dist/swagger-ui.css", "swagger-ui.css.gz"),
    ("dist/favicon-32x32.png", "favicon.png.gz"),
];

/// What follows the style sheet.
const STYLE: &str = "assets/docs.css";

const DOCUMENT: &str = "../../docs/openapi.json";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    for (file, name) in FILES {
        let path = archive.file_names().find(|path| path.ends_with(file)).ok_or(file)?.to_owned();
        let mut content = Vec::new();
        archive.by_name(&path)?.read_to_end(&mut content)?;
        if file.ends_with(".css") {
            content.extend(std::fs::read(STYLE)?);
        }
        std::fs::write(folder.join(name), compressed(&content)?)?;
    }
    println!("cargo::rerun-if-changed={STYLE}");
    println!("cargo::rerun-if-changed={DOCUMENT}");
    std::fs::write(folder.join("openapi.json.gz"), compressed(&std::fs::read(DOCUMENT)?)?)?;
    Ok(())
}

fn compressed(content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}
