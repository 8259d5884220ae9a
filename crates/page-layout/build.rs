//! Generates Rust from the texts (`crates/texts`).

fn main() -> Result<(), Box<dyn std::error::Error>> {
    usher_texts::generate_languages()
}
