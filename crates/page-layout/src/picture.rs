//! The service's picture, from its profile: fetched once, limited in size, and redrawn at the size that pages show.
//! Nothing of the original file reaches a browser, and the picture is embedded in the page.

use std::fmt;
use std::io::Cursor;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, USER_AGENT};
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageFormat, ImageReader, Limits, RgbImage};
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;
use usher_http_client::Client;

/// Largest file read.
const MAX_FILE_BYTES: usize = 2 * 1024 * 1024;

/// Largest width and height of a file, in pixels.
const MAX_SIDE: u32 = 4096;

/// Most memory for decoding: an image of the largest size.
const MAX_MEMORY: u64 = 4096 * 4096 * 4 + 16 * 1024 * 1024;

/// The sides of the pictures in pixels: twice the size on the page, and the icon of a tab.
const LARGE: u32 = 112;
const SMALL: u32 = 32;

/// Largest PNG; larger ones become JPEG.
const MAX_PNG_BYTES: usize = 6 * 1024;

/// How long a picture is shown before it is fetched again, and how long to wait after a failure.
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);
const RETRY: Duration = Duration::from_secs(10 * 60);

/// A picture in two sizes, as `data:` URLs.
#[derive(Debug, PartialEq, Eq)]
pub struct Picture {
    large: String,
    small: String,
}

/// Why a file is not a picture.
#[derive(Debug, thiserror::Error)]
enum PictureError {
    #[error(transparent)]
    Fetch(#[from] usher_http_client::Error),
    #[error("the server responds with status {0}")]
    Status(u16),
    #[error("it is no PNG, JPEG, WebP or GIF")]
    Format,
    #[error("it cannot be decoded: {0}")]
    Image(#[from] image::ImageError),
    #[error("decoding was interrupted")]
    Interrupted,
}

impl Picture {
    /// The picture on the page.
    pub fn large(&self) -> &str {
        &self.large
    }

    /// The icon of the browser tab.
    pub fn small(&self) -> &str {
        &self.small
    }

    /// The picture in a file, if it is one.
    pub fn of(file: &[u8]) -> Option<Self> {
        Self::decode(file).ok()
    }

    /// Decodes a file of a raster format, recognised by its first bytes; of an animation, the first frame.
    fn decode(file: &[u8]) -> Result<Self, PictureError> {
        let mut reader = ImageReader::new(Cursor::new(file));
        let format = image::guess_format(file).map_err(|_| PictureError::Format)?;
        if !matches!(format, ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::WebP | ImageFormat::Gif) {
            return Err(PictureError::Format);
        }
        reader.set_format(format);
        let mut limits = Limits::default();
        limits.max_image_width = Some(MAX_SIDE);
        limits.max_image_height = Some(MAX_SIDE);
        limits.max_alloc = Some(MAX_MEMORY);
        reader.limits(limits);
        let image = reader.decode()?;
        let square = |side| image.resize_to_fill(side, side, FilterType::Triangle);
        Ok(Self { large: data_url(&square(LARGE))?, small: data_url(&square(SMALL))? })
    }
}

/// PNG if it is small, to keep transparency; otherwise JPEG on white.
fn data_url(image: &DynamicImage) -> Result<String, PictureError> {
    let mut png = Vec::new();
    image.write_to(&mut Cursor::new(&mut png), ImageFormat::Png)?;
    if png.len() <= MAX_PNG_BYTES {
        return Ok(format!("data:image/png;base64,{}", BASE64_STANDARD.encode(png)));
    }
    let pixels = image.to_rgba8();
    let mut opaque = RgbImage::from_pixel(pixels.width(), pixels.height(), image::Rgb([255; 3]));
    for (to, from) in opaque.pixels_mut().zip(pixels.pixels()) {
        let [red, green, blue, alpha] = from.0;
        let on_white = |channel: u8| {
            let mixed = (u32::from(channel) * u32::from(alpha) + 255 * (255 - u32::from(alpha))) / 255;
            u8::try_from(mixed).unwrap_or(u8::MAX)
        };
        to.0 = [on_white(red), on_white(green), on_white(blue)];
    }
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, 80).encode_image(&opaque)?;
    Ok(format!("data:image/jpeg;base64,{}", BASE64_STANDARD.encode(jpeg)))
}

/// The address of the picture in the service's profile, which may change.
type Address = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Where the service's picture comes from. Cheap to clone.
#[derive(Clone)]
pub struct PictureSource(Arc<Source>);

struct Source {
    address: Address,
    /// The picture shown while the profile has none.
    drawn: Option<Arc<Picture>>,
    client: Client,
    tasks: TaskTracker,
    cache: Mutex<Cache>,
}

#[derive(Default)]
struct Cache {
    /// The address from which the rest was fetched.
    address: Option<String>,
    picture: Option<Arc<Picture>>,
    /// When it is fetched next; `None` during a fetch.
    next: Option<Instant>,
}

impl fmt::Debug for PictureSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PictureSource").finish_non_exhaustive()
    }
}

impl PictureSource {
    /// A source that fetches with this client, whose time limit applies, and starts at once. `drawn` is shown while the
    /// profile has no picture.
    pub fn new(address: Address, drawn: Option<Picture>, client: Client, tasks: TaskTracker) -> Self {
        let drawn = drawn.map(Arc::new);
        let source = Self(Arc::new(Source { address, drawn, client, tasks, cache: Mutex::default() }));
        source.current();
        source
    }

    /// The picture, once fetched. Does not wait; the first pages after the start may have none.
    pub fn current(&self) -> Option<Arc<Picture>> {
        let address = (self.0.address)();
        let mut cache = self.0.cache.lock();
        if cache.address != address {
            *cache = Cache { address: address.clone(), picture: None, next: Some(Instant::now()) };
        }
        if let Some(address) = address
            && cache.next.is_some_and(|next| next <= Instant::now())
        {
            cache.next = None;
            let this = self.clone();
            self.0.tasks.spawn(async move { this.refresh(address).await });
        }
        cache.picture.clone().or_else(|| self.0.drawn.clone())
    }

    async fn refresh(&self, address: String) {
        let fetched = self.fetch(&address).await;
        let mut cache = self.0.cache.lock();
        if cache.address.as_ref() != Some(&address) {
            return;
        }
        let now = Instant::now();
        match fetched {
            Ok(picture) => {
                cache.picture = Some(Arc::new(picture));
                cache.next = now.checked_add(FRESH);
            }
            Err(error) => {
                tracing::warn!(%error, "the picture of the service's profile cannot be shown on pages");
                cache.next = now.checked_add(RETRY);
            }
        }
    }

    async fn fetch(&self, address: &str) -> Result<Picture, PictureError> {
        let request = Request::get(address).header(USER_AGENT, "usher").header(ACCEPT, "image/*");
        let request = request.body(Bytes::new()).map_err(|_| usher_http_client::Error::Url)?;
        let response = self.0.client.fetch(request, MAX_FILE_BYTES).await?;
        if !response.status().is_success() {
            return Err(PictureError::Status(response.status().as_u16()));
        }
        let file = response.into_body();
        tokio::task::spawn_blocking(move || Picture::decode(&file)).await.map_err(|_| PictureError::Interrupted)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut file = Vec::new();
        image.write_to(&mut Cursor::new(&mut file), format).unwrap();
        file
    }

    fn noise(side: u32) -> DynamicImage {
        let mut state = 1_u32;
        DynamicImage::from(RgbImage::from_fn(side, side, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [red, green, blue, _] = state.to_be_bytes();
            image::Rgb([red, green, blue])
        }))
    }

    #[test]
    fn raster_images_become_small_ones() {
        let plain = DynamicImage::new_rgba8(300, 200);
        for format in [ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP] {
            let picture = Picture::decode(&file(&plain, format)).unwrap();
            assert!(picture.large().starts_with("data:image/png;base64,"), "{format:?}");
        }
        let picture = Picture::decode(&file(&noise(900), ImageFormat::Jpeg)).unwrap();
        assert!(picture.large().starts_with("data:image/jpeg;base64,"));
        assert!(picture.large().len() + picture.small().len() < 24 * 1024, "it is inside every page");
    }

    #[test]
    fn other_files_are_refused() {
        let script = b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
        for wrong in [&script[..], b"<html>", b"", b"BM\x00\x00", b"\x89PNG\r\n\x1a\n broken"] {
            assert!(Picture::decode(wrong).is_err());
        }
        // Two bytes of the header claim an enormous size.
        let mut bomb = file(&DynamicImage::new_rgb8(1, 1), ImageFormat::Png);
        bomb.splice(16..20, 60_000_u32.to_be_bytes());
        assert!(Picture::decode(&bomb).is_err());
        let wide = DynamicImage::new_luma8(MAX_SIDE + 1, 1);
        assert!(matches!(Picture::decode(&file(&wide, ImageFormat::Png)), Err(PictureError::Image(_))));
    }
}
