//! A file that appears whole or not at all: written beside its place, then renamed.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// A file being written as `NAME.partial`. Dropped before [`commit`](Self::commit), it is removed, and what stood in
/// its place stays.
#[derive(Debug)]
pub(crate) struct PartialFile {
    target: PathBuf,
    partial: Option<PathBuf>,
}

impl PartialFile {
    /// Starts the file that is to become `target`.
    pub(crate) fn create(target: &Path) -> io::Result<(Self, File)> {
        let mut name = target.file_name().map(OsString::from).ok_or(io::ErrorKind::InvalidFilename)?;
        if target.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        name.push(".partial");
        let partial = target.with_file_name(name);
        let file = File::create(&partial)?;
        Ok((PartialFile { target: target.into(), partial: Some(partial) }, file))
    }

    /// Puts the file, whose every byte was written to `file`, in its place.
    pub(crate) fn commit(mut self, file: &File) -> io::Result<()> {
        file.sync_all()?;
        let Some(partial) = self.partial.as_deref() else { return Ok(()) };
        fs::rename(partial, &self.target)?;
        self.partial = None;
        Ok(())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // If even that fails, the name still says that it is not whole.
            let _ = fs::remove_file(partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_old_file_stays_until_the_new_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("run.vqt");
        fs::write(&target, "old").unwrap();
        let files = || fs::read_dir(folder.path()).unwrap().count();

        let (partial, mut file) = PartialFile::create(&target).unwrap();
        file.write_all(b"half").unwrap();
        assert_eq!(files(), 2);
        drop(partial);
        assert_eq!((files(), fs::read(&target).unwrap()), (1, b"old".to_vec()));

        let (partial, mut file) = PartialFile::create(&target).unwrap();
        file.write_all(b"new").unwrap();
        partial.commit(&file).unwrap();
        assert_eq!((files(), fs::read(&target).unwrap()), (1, b"new".to_vec()));
    }

    #[test]
    fn a_folder_is_no_file() {
        assert!(PartialFile::create(Path::new("/")).is_err());
        let folder = tempfile::tempdir().unwrap();
        let error = PartialFile::create(folder.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
        assert!(PartialFile::create(Path::new("/no/such/folder/run.vqt")).is_err());
    }
}
