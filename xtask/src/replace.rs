//! Folders that appear whole or not at all: made beside their place, then renamed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The place where `folder` is made: beside it, with `.partial` at the end. Empty, whatever an interrupted
/// run left there.
pub(crate) fn begin(folder: &Path) -> Result<PathBuf> {
    let mut name = folder.file_name().context("a folder without a name")?.to_owned();
    name.push(".partial");
    let partial = folder.with_file_name(name);
    remove(&partial)?;
    fs::create_dir_all(&partial).with_context(|| format!("cannot create {}", partial.display()))?;
    Ok(partial)
}

/// Puts the finished `partial` in the place of `folder`.
pub(crate) fn finish(partial: &Path, folder: &Path) -> Result<()> {
    remove(folder)?;
    fs::rename(partial, folder)
        .with_context(|| format!("cannot rename {} to {}", partial.display(), folder.display()))
}

/// Removes a folder if it is there.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_interrupted_run_left_is_gone_and_the_old_folder_stays_until_the_end() {
        let base = std::env::temp_dir().join(format!("xtask-replace-{}", std::process::id()));
        let folder = base.join("tool");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("old"), "").unwrap();
        fs::write(begin(&folder).unwrap().join("half"), "").unwrap();

        let partial = begin(&folder).unwrap();
        assert!(!partial.join("half").exists() && folder.join("old").exists());
        fs::write(partial.join("new"), "").unwrap();
        finish(&partial, &folder).unwrap();
        assert!(folder.join("new").exists() && !folder.join("old").exists() && !partial.exists());
        remove(&base).unwrap();
    }
}
