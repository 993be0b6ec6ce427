//! Which QEMU to run.

use std::{
    env, fmt,
    path::{Path, PathBuf},
};

/// Name of the program.
const PROGRAM: &str = "qemu-system-x86_64";
/// Names a QEMU when no option does.
pub const ENVIRONMENT_VARIABLE: &str = "NATIVE_BENCH_QEMU";
/// Where `cargo xtask setup` puts one, in the project's folder.
const IN_PROJECT: &str = ".tools/qemu/qemu-system-x86_64";

/// A QEMU that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The program.
    pub path: PathBuf,
    /// Who named it.
    pub by: &'static str,
}

/// No QEMU is there; displays where one was looked for.
#[derive(Debug, PartialEq, Eq)]
pub struct NotLocated(Vec<String>);

impl fmt::Display for NotLocated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no {PROGRAM} was found (looked at {}); `cargo xtask setup` gets one, or install your system's \
             package (Debian: qemu-system-x86) in version {} or later",
            self.0.join("; "),
            super::Version::OLDEST
        )
    }
}

impl std::error::Error for NotLocated {}

/// Finds QEMU: what `asked` for, else the environment variable, else PATH, else the project's own in or above
/// the current folder.
pub fn locate(asked: Option<&Path>) -> Result<Located, NotLocated> {
    let named = env::var_os(ENVIRONMENT_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let path =
        env::var_os("PATH").map(|path| env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
    locate_in(asked, named.as_deref(), &path, &env::current_dir().unwrap_or_default())
}

fn locate_in(
    asked: Option<&Path>,
    named: Option<&Path>,
    path: &[PathBuf],
    current: &Path,
) -> Result<Located, NotLocated> {
    // A name that was given is never replaced by another program.
    for (given, by) in [(asked, "--qemu"), (named, ENVIRONMENT_VARIABLE)] {
        let Some(given) = given else { continue };
        return match resolve(given, path) {
            Some(path) => Ok(Located { path, by }),
            None => Err(NotLocated(vec![format!("{} named by {by}", given.display())])),
        };
    }
    if let Some(path) = resolve(Path::new(PROGRAM), path) {
        return Ok(Located { path, by: "PATH" });
    }
    let own = current.ancestors().map(|folder| folder.join(IN_PROJECT)).find(|path| is_program(path));
    own.map(|path| Located { path, by: ".tools" }).ok_or_else(|| {
        NotLocated(vec![
            format!("${ENVIRONMENT_VARIABLE}, which is not set"),
            format!("the {} folders of PATH", path.len()),
            format!("{IN_PROJECT} in and above {}", current.display()),
        ])
    })
}

/// A bare name is looked for in the folders of PATH, as a shell does.
fn resolve(program: &Path, path: &[PathBuf]) -> Option<PathBuf> {
    let bare = program.components().count() == 1 && !program.is_absolute();
    let found =
        bare.then(|| path.iter().map(|folder| folder.join(program)).find(|file| is_program(file))).flatten();
    found.or_else(|| is_program(program).then(|| program.to_path_buf()))
}

fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt};

    fn program(folder: &Path, name: &str, mode: u32) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn takes_the_first_that_is_there_in_the_order_of_the_documentation() {
        let folder = tempfile::tempdir().unwrap();
        let (bin, below) = (folder.path().join("bin"), folder.path().join("a/b"));
        fs::create_dir_all(&below).unwrap();
        let path = [bin.clone()];
        let missing = locate_in(None, None, &path, &below).unwrap_err().to_string();
        assert!(missing.contains("cargo xtask setup"), "{missing}");

        let own = program(folder.path(), IN_PROJECT, 0o755);
        assert_eq!(locate_in(None, None, &path, &below), Ok(Located { path: own.clone(), by: ".tools" }));
        let on_path = program(&bin, PROGRAM, 0o755);
        assert_eq!(locate_in(None, None, &path, &below), Ok(Located { path: on_path.clone(), by: "PATH" }));
        let named = locate_in(None, Some(&own), &path, &below);
        assert_eq!(named, Ok(Located { path: own.clone(), by: ENVIRONMENT_VARIABLE }));
        let asked = locate_in(Some(Path::new(PROGRAM)), Some(&own), &path, &below);
        assert_eq!(asked, Ok(Located { path: on_path, by: "--qemu" }));
    }

    #[test]
    fn a_named_program_that_is_not_there_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        program(folder.path(), IN_PROJECT, 0o755);
        let wrong = program(folder.path(), "not-executable", 0o644);
        let error = locate_in(Some(&wrong), None, &[], folder.path()).unwrap_err().to_string();
        assert!(error.contains("not-executable named by --qemu"), "{error}");
    }
}
