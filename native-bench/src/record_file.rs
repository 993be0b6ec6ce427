//! A file that appears whole or not at all.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// A file being written, which has no name where the system allows that, else `NAME.partial`. Dropped before
/// [`commit`](Self::commit), it is gone, and what stood in its place stays.
#[derive(Debug)]
pub(crate) struct PartialFile {
    target: PathBuf,
    partial: PathBuf,
    /// Whether a folder lists it as `partial`.
    named: bool,
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
        let (file, named) = match create_without_name(&partial) {
            Some(file) => (file, false),
            None => (File::create(&partial)?, true),
        };
        Ok((PartialFile { target: target.into(), partial, named }, file))
    }

    /// Puts the file, whose every byte was written to `file`, in its place.
    pub(crate) fn commit(mut self, file: &File) -> io::Result<()> {
        file.sync_all()?;
        if !self.named {
            name(file, &self.partial)?;
            self.named = true;
        }
        fs::rename(&self.partial, &self.target)?;
        self.named = false;
        Ok(())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if self.named {
            // If even that fails, the name still says that it is not whole.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// A file in the folder of `path` that no folder lists: it goes with the program, however that ends. `None` where there
/// is no such thing.
#[cfg(target_os = "linux")]
fn create_without_name(path: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // As for any new file, the process's mask takes away from this.
    let mode = Mode::from_raw_mode(0o666);
    open(folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode).ok().map(File::from)
}

/// Gives a file without a name one, in place of what may be left under it.
#[cfg(target_os = "linux")]
fn name(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn create_without_name(_: &Path) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn name(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
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
        // Left by a program that was killed, where files have names.
        fs::write(folder.path().join("run.vqt.partial"), "left").unwrap();
        let files = || fs::read_dir(folder.path()).unwrap().count();

        let (partial, mut file) = PartialFile::create(&target).unwrap();
        file.write_all(b"half").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"old");
        drop(partial);

        let (partial, mut file) = PartialFile::create(&target).unwrap();
        file.write_all(b"new").unwrap();
        partial.commit(&file).unwrap();
        assert_eq!((files(), fs::read(&target).unwrap()), (1, b"new".to_vec()));
    }

    #[test]
    fn a_named_file_is_removed_or_renamed() {
        let folder = tempfile::tempdir().unwrap();
        let (target, partial) = (folder.path().join("run.vqt"), folder.path().join("run.vqt.partial"));
        for commits in [false, true] {
            let file = File::create(&partial).unwrap();
            let named = PartialFile { target: target.clone(), partial: partial.clone(), named: true };
            if commits {
                named.commit(&file).unwrap();
            } else {
                drop(named);
            }
            assert_eq!((partial.exists(), target.exists()), (false, commits));
        }
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
