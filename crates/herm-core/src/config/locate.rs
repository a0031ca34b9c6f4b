//! Where our files are. Rules only: nothing here looks at a disk.

use std::path::{Path, PathBuf};

/// The files and folders of one herm.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Paths {
    /// The configuration.
    pub config: PathBuf,
    /// Files of secrets, to be read in this order; a later one wins.
    pub env_files: Vec<PathBuf>,
    /// `tokens/`, `names.json`, `pins.json`, `approvals.json`, `supervision.json`, `logs/`.
    pub state: PathBuf,
    /// `catalog/`.
    pub cache: PathBuf,
    /// Sockets of running hosts, `<pid>.sock`.
    pub runtime: PathBuf,
    /// Images and other files that tools return.
    pub results: PathBuf,
}

/// What was found out.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Located {
    /// Our own files.
    pub paths: Paths,
    /// Configurations of the reference system to point at if `paths.config` does not exist. Empty
    /// when a configuration was named.
    pub candidates: Vec<PathBuf>,
}

/// Options of the command line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// `--config FILE`: replaces the configuration, and nothing else.
    pub config: Option<&'a Path>,
    /// `--profile NAME`.
    pub profile: Option<&'a str>,
}

/// Why there is no place.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LocateError {
    /// No variable says where.
    #[error("neither HERM_HOME nor HOME is set: set one of them")]
    NoHome,
    /// A profile is a folder's name.
    #[error("`{0}` cannot be the name of a profile: use letters, digits, `.`, `_` and `-`")]
    BadProfile(String),
}

/// The rules. `var` looks an environment variable up; an empty one counts as unset.
///
/// # Errors
///
/// No home at all, or a profile's name that is no folder's name.
pub fn locate(
    var: &dyn Fn(&str) -> Option<String>,
    wanted: Wanted<'_>,
) -> Result<Located, LocateError> {
    let set = |name: &str| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let sub = profile(wanted.profile)?;
    let home = set("HOME");
    let mut paths = match set("HERM_HOME") {
        Some(folder) => one_folder(&folder.join(&sub)),
        None => xdg_folders(&set, home.as_deref(), &sub)?,
    };
    let mut candidates = Vec::new();
    if let Some(file) = wanted.config {
        if let Some(beside) = file.parent().map(|folder| folder.join(".env"))
            && !paths.env_files.contains(&beside)
        {
            paths.env_files.push(beside);
        }
        paths.config = file.to_owned();
    } else {
        let homes = [set("HERMES_HOME"), home.map(|home| home.join(".hermes"))];
        for folder in homes.into_iter().flatten() {
            let file = folder.join(&sub).join("config.yaml");
            if file != paths.config && !candidates.contains(&file) {
                candidates.push(file);
            }
        }
    }
    Ok(Located { paths, candidates })
}

/// `profiles/NAME`, or nothing.
fn profile(name: Option<&str>) -> Result<PathBuf, LocateError> {
    let Some(name) = name else { return Ok(PathBuf::new()) };
    let safe = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() || name.len() > 64 || name.starts_with(['.', '-']) || !name.chars().all(safe)
    {
        return Err(LocateError::BadProfile(name.to_owned()));
    }
    Ok(Path::new("profiles").join(name))
}

fn one_folder(home: &Path) -> Paths {
    Paths {
        config: home.join("config.yaml"),
        env_files: vec![home.join(".env")],
        state: home.to_owned(),
        cache: home.to_owned(),
        runtime: home.join("run"),
        results: home.join("results"),
    }
}

fn xdg_folders(
    set: &dyn Fn(&str) -> Option<PathBuf>,
    home: Option<&Path>,
    sub: &Path,
) -> Result<Paths, LocateError> {
    // The standard says that a relative path in these is to be ignored.
    let absolute = |name: &str| set(name).filter(|path| path.is_absolute());
    let folder = |name: &str, default: &str| {
        let base = absolute(name).or_else(|| home.map(|home| home.join(default)));
        base.map(|base| base.join("herm").join(sub)).ok_or(LocateError::NoHome)
    };
    let config = folder("XDG_CONFIG_HOME", ".config")?;
    let state = folder("XDG_STATE_HOME", ".local/state")?;
    let runtime = absolute("XDG_RUNTIME_DIR").map(|base| base.join("herm").join(sub));
    Ok(Paths {
        config: config.join("config.yaml"),
        env_files: vec![config.join(".env")],
        cache: folder("XDG_CACHE_HOME", ".cache")?,
        runtime: runtime.unwrap_or_else(|| state.clone()).join("run"),
        results: state.join("results"),
        state,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(set: &[(&str, &str)], wanted: Wanted<'_>) -> Result<Located, LocateError> {
        let var = |name: &str| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        locate(&var, wanted)
    }

    #[test]
    fn one_home_holds_everything() {
        let set = [("HERM_HOME", "/h"), ("HOME", "/me"), ("XDG_STATE_HOME", "/x")];
        let found = at(&set, Wanted { profile: Some("team"), ..Wanted::default() }).unwrap();
        let home = Path::new("/h/profiles/team");
        assert_eq!(found.paths, one_folder(home));
        assert_eq!(found.candidates, [Path::new("/me/.hermes/profiles/team/config.yaml")]);
        let set = [("HERM_HOME", "/me/.hermes"), ("HOME", "/me"), ("HERMES_HOME", "")];
        assert!(at(&set, Wanted::default()).unwrap().candidates.is_empty());
    }

    #[test]
    fn without_a_home_the_xdg_folders_are_used() {
        let set = [("HOME", "/me"), ("XDG_CACHE_HOME", "relative"), ("XDG_CONFIG_HOME", "/c")];
        let found = at(&set, Wanted::default()).unwrap();
        assert_eq!(found.paths.config, Path::new("/c/herm/config.yaml"));
        assert_eq!(found.paths.cache, Path::new("/me/.cache/herm"));
        assert_eq!(found.paths.state, Path::new("/me/.local/state/herm"));
        assert_eq!(found.paths.runtime, Path::new("/me/.local/state/herm/run"));
        assert_eq!(found.paths.results, Path::new("/me/.local/state/herm/results"));
        let set = [("HOME", "/me"), ("XDG_RUNTIME_DIR", "/run/1"), ("HERMES_HOME", "/hh")];
        let found = at(&set, Wanted::default()).unwrap();
        assert_eq!(found.paths.runtime, Path::new("/run/1/herm/run"));
        let expected = ["/hh/config.yaml", "/me/.hermes/config.yaml"].map(PathBuf::from);
        assert_eq!(found.candidates, expected);
        assert_eq!(at(&[], Wanted::default()), Err(LocateError::NoHome));
    }

    #[test]
    fn a_named_file_replaces_the_configuration_only() {
        let wanted = Wanted { config: Some(Path::new("/p/x.yaml")), profile: None };
        let found = at(&[("HERM_HOME", "/h"), ("HOME", "/me")], wanted).unwrap();
        assert_eq!(found.paths.config, Path::new("/p/x.yaml"));
        assert_eq!(found.paths.env_files, ["/h/.env", "/p/.env"].map(PathBuf::from));
        assert_eq!(found.paths.state, Path::new("/h"));
        assert!(found.candidates.is_empty());
    }

    #[test]
    fn a_profile_cannot_leave_its_folder() {
        for name in ["", "..", "a/b", ".x", "-x", "a\0"] {
            let wanted = Wanted { profile: Some(name), ..Wanted::default() };
            let refused = Err(LocateError::BadProfile(name.to_owned()));
            assert_eq!(at(&[("HOME", "/me")], wanted), refused);
        }
    }
}
