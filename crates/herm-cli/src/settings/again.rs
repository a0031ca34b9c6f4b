//! A configuration that would start herm as a server of itself, on the same home, without end.

use std::path::Path;

use herm_core::config::{self, Places, StdioTarget, Target, Wanted};
use herm_core::gate::env;
use herm_core::name::ServerName;

use super::Settings;

impl Settings {
    /// The first enabled server that is this program (`exe`), told to `serve` the home that we use:
    /// in the environment that it would get, `HERM_HOME`, `--profile` and the XDG folders lead to
    /// the same `run/`. What hides behind a wrapper is found from the inside, by its ancestors.
    pub(crate) fn serves_itself(&self, exe: &Path) -> Option<ServerName> {
        let text = |path: std::path::PathBuf| path.into_os_string().into_string().ok();
        let places = Places {
            home: std::env::home_dir().and_then(text),
            workspace: std::env::current_dir().ok().and_then(text),
        };
        let again = |target: &StdioTarget| {
            target.args.iter().any(|word| word == "serve")
                && self.is_program(target, exe)
                && self.leads_home(target)
        };
        let enabled = self.ready().filter(|server| server.enabled);
        let mut targets = enabled.filter_map(|server| {
            match server.resolve(&|name| self.variable(name), &places).ok()? {
                Target::Stdio(target) => Some((server, target)),
                _ => None, // a URL starts nothing
            }
        });
        targets.find(|(_, target)| again(target)).map(|(server, _)| server.name.clone())
    }

    /// Whether the command of a server is this program, by path or by name.
    fn is_program(&self, target: &StdioTarget, exe: &Path) -> bool {
        let is = |path: &Path| path.canonicalize().is_ok_and(|path| path == exe);
        if target.command.contains('/') {
            let folder = target.cwd.as_deref().unwrap_or(".");
            return is(&Path::new(folder).join(&target.command));
        }
        let own = target.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.expose());
        let path = own.map(str::to_owned).or_else(|| self.variable("PATH")).unwrap_or_default();
        std::env::split_paths(&path).any(|folder| is(&folder.join(&target.command)))
    }

    /// Whether a herm with this command line and environment has our home.
    fn leads_home(&self, target: &StdioTarget) -> bool {
        let ours = self.environment.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let child = env::child(ours, &target.pass_env, &target.env);
        let profile = target.args.iter().enumerate().find_map(|(at, word)| {
            match word.strip_prefix("--profile")? {
                "" => target.args.get(at + 1).map(String::as_str),
                rest => rest.strip_prefix('='),
            }
        });
        let lookup = |name: &str| child.get(name).map(|value| value.expose().to_owned());
        let located = config::locate(&lookup, Wanted { config: None, profile });
        located.is_ok_and(|located| located.paths.runtime == self.runtime)
    }
}
