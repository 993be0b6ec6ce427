//! The size of the built page's WebAssembly as it goes over the network: compressed with brotli.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// What all of the page's WebAssembly may weigh, compressed.
pub(crate) const BUDGET_BYTES: usize = 500_000;

/// brotli's highest quality, which static servers use for files they compress once.
const QUALITY: u32 = 11;
const WINDOW_BITS: u32 = 22;
const BUFFER_BYTES: usize = 4096;

/// One file's sizes in bytes.
pub(crate) struct Size {
    pub(crate) name: String,
    pub(crate) plain: usize,
    pub(crate) compressed: usize,
}

/// The sizes of all WebAssembly files in the folder of the built page, by name.
pub(crate) fn measure(dist: &Path) -> Result<Vec<Size>> {
    let mut sizes = Vec::new();
    add_folder(dist, &mut sizes)?;
    if sizes.is_empty() {
        bail!("{} holds no .wasm file: the page was not built into it", dist.display());
    }
    sizes.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(sizes)
}

fn add_folder(folder: &Path, sizes: &mut Vec<Size>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            add_folder(&path, sizes)?;
        } else if path.extension().is_some_and(|extension| extension == "wasm") {
            let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            sizes.push(Size { name, plain: bytes.len(), compressed: compressed_length(&bytes)? });
        }
    }
    Ok(())
}

fn compressed_length(bytes: &[u8]) -> Result<usize> {
    let mut compressor = brotli::CompressorWriter::new(Vec::new(), BUFFER_BYTES, QUALITY, WINDOW_BITS);
    compressor.write_all(bytes).context("brotli failed")?;
    Ok(compressor.into_inner().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_of_the_webassembly_only_and_compressed() {
        let folder = std::env::temp_dir().join(format!("xtask-page-size-{}", std::process::id()));
        fs::create_dir_all(folder.join("worker")).unwrap();
        assert!(measure(&folder).is_err());
        fs::write(folder.join("page.wasm"), vec![7; 100_000]).unwrap();
        fs::write(folder.join("worker/worker.wasm"), "").unwrap();
        fs::write(folder.join("page.js"), "ignored").unwrap();
        let sizes = measure(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let [size, worker] = sizes.as_slice() else { panic!("{} files", sizes.len()) };
        assert_eq!((size.name.as_str(), size.plain), ("page.wasm", 100_000));
        assert_eq!((worker.name.as_str(), worker.plain), ("worker.wasm", 0));
        assert!(size.compressed > 0 && size.compressed < 200, "{}", size.compressed);
    }
}
