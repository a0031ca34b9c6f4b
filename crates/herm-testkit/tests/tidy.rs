//! Order in the repository that neither the compiler nor a lint keeps.
#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests fail the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

const LINES: usize = 600;

/// Which crates of ours each may name in its `[dependencies]`.
const DIRECTION: [(&str, &[&str]); 5] = [
    ("herm-core", &[]),
    ("herm-host", &["herm-core"]),
    ("herm-gateway", &["herm-core", "herm-host"]),
    ("herm", &["herm-core", "herm-host", "herm-gateway"]),
    ("herm-testkit", &["herm-core", "herm-host"]),
];

/// What is absent from a crate, and so cannot happen in it.
const ABSENT: [(&str, &[&str]); 3] = [
    (
        "herm-core",
        &[
            "chrono",
            "fastrand",
            "getrandom",
            "jiff",
            "libc",
            "rand",
            "reqwest",
            "rustix",
            "rustls",
            "tempfile",
            "time",
            "tokio",
            "tokio-util",
        ],
    ),
    ("herm-host", &["axum", "clap", "clap_complete", "hyper"]),
    ("herm-gateway", &["clap", "reqwest"]),
];

const DOCUMENTS: [&str; 8] = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/configuration.md",
    "docs/json.md",
    "docs/performance.md",
    "deny.toml",
];

#[test]
fn no_source_file_has_grown_too_long() {
    let files = sources(&root().join("crates"));
    assert!(files.len() > 20, "only {} source files were found", files.len());
    for file in files {
        let lines = read(&file).lines().count();
        assert!(lines <= LINES, "{} has {lines} lines, at most {LINES}", file.display());
    }
}

/// A file below `tests/` that no `mod` names is compiled by nobody, and its tests never run.
#[test]
fn every_test_file_is_declared() {
    for package in &METADATA.workspace_packages() {
        let folder = folder(package).join("tests");
        let texts: Vec<String> = sources(&folder).iter().map(|file| read(file)).collect();
        let manifest = read(package.manifest_path.as_std_path());
        let discovered = !manifest.contains("autotests = false");
        for file in sources(&folder) {
            let top = file.parent() == Some(&folder);
            let name = if file.ends_with("mod.rs") { file.parent() } else { Some(file.as_path()) };
            let name = name.and_then(Path::file_stem).expect("a file has a name").to_string_lossy();
            let shown = file.strip_prefix(folder.parent().expect("a parent")).expect("inside");
            let declared = texts.iter().any(|text| text.contains(&format!("mod {name};")))
                || manifest.contains(&format!("path = \"{}\"", shown.display()))
                || (discovered && (top || file.ends_with("main.rs")));
            assert!(declared, "{} of {} is declared nowhere", shown.display(), package.name);
        }
    }
}

#[test]
fn dependencies_point_inwards() {
    let ours: BTreeSet<&str> = DIRECTION.iter().map(|(name, _)| *name).collect();
    for package in METADATA.workspace_packages() {
        let name = package.name.as_str();
        let allowed = DIRECTION.iter().find(|(crate_name, _)| *crate_name == name);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("say what `{name}` may depend on"));
        let absent = ABSENT.iter().find(|(crate_name, _)| *crate_name == name);
        for dependency in normal(package) {
            let known = !ours.contains(dependency) || allowed.contains(&dependency);
            assert!(known, "`{name}` must not depend on `{dependency}`");
            let kept_out = absent.is_some_and(|(_, absent)| absent.contains(&dependency));
            assert!(!kept_out, "`{dependency}` is to be absent from `{name}`");
        }
    }
}

#[test]
fn licences_are_those_that_we_allow() {
    let allowed = deny_list("allow");
    for package in &METADATA.packages {
        let licence = package.license.as_deref().unwrap_or("none");
        assert!(permits(licence, &allowed), "`{}` has licence {licence}", package.name);
    }
}

#[test]
fn banned_crates_stay_out() {
    let banned = deny_list("deny");
    assert!(banned.contains(&"openssl".to_owned()), "deny.toml was not understood: {banned:?}");
    for package in &METADATA.packages {
        let name = package.name.to_string();
        assert!(!banned.contains(&name), "`{name}` is banned, see deny.toml");
    }
}

#[test]
fn no_crate_is_here_in_two_versions() {
    let skipped = deny_list("skip");
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in &METADATA.packages {
        let name = package.name.to_string();
        let version = package.version.to_string();
        let skip = skipped.iter().filter_map(|entry| entry.split_once('@'));
        let mut skip = skip.filter(|(skip_name, _)| *skip_name == name);
        if !skip.any(|(_, old)| version.starts_with(&format!("{old}."))) {
            versions.entry(name).or_default().push(version);
        }
    }
    versions.retain(|_, versions| versions.len() > 1);
    assert!(versions.is_empty(), "in several versions: {versions:?}");
}

#[test]
fn promised_documents_exist() {
    let root = root();
    for document in DOCUMENTS {
        assert!(root.join(document).is_file(), "no {document}");
    }
    for text in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        for (_, link) in links(&read(&root.join(text))) {
            assert!(root.join(&link).exists(), "{text} links to {link}, which is not there");
        }
    }
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = ["MIT".to_owned(), "Unicode-3.0".to_owned()];
    assert!(permits("MIT/Apache-2.0", &allowed));
    assert!(permits("(MIT OR Apache-2.0) AND Unicode-3.0", &allowed));
    assert!(!permits("MIT AND GPL-3.0", &allowed));
    assert!(!permits("(MIT OR Apache-2.0) AND GPL-3.0", &allowed));
    assert!(!permits("none", &allowed));
}

/// Whether an SPDX expression can be met with these licences. Parentheses only around a choice, as
/// in all expressions that occur.
fn permits(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.replace(" / ", " OR ").replace('/', " OR ");
    if expression.contains('(') {
        return expression.split(" AND ").all(|part| {
            let part = part.trim_start_matches('(').trim_end_matches(')');
            part.split(" OR ").any(|one| allowed.iter().any(|name| name == one))
        });
    }
    expression.split(" OR ").any(|choice| {
        choice.split(" AND ").all(|one| allowed.iter().any(|name| name == one.trim()))
    })
}

/// The first quoted text of each line in a list of deny.toml.
fn deny_list(name: &str) -> Vec<String> {
    let text = read(&root().join("deny.toml"));
    let lines = text.lines().skip_while(|line| *line != format!("{name} = ["));
    let entries = lines.skip(1).take_while(|line| *line != "]");
    entries.filter_map(|line| line.split('"').nth(1)).map(str::to_owned).collect()
}

/// Relative links of a Markdown text.
fn links(text: &str) -> Vec<(usize, String)> {
    let targets = text.match_indices("](").filter_map(|(at, mark)| {
        let rest = &text[at + mark.len()..];
        let target = rest[..rest.find(')')?].split('#').next()?;
        Some((at, target.to_owned()))
    });
    targets.filter(|(_, link)| !link.is_empty() && !link.contains(':')).collect()
}

fn normal(package: &Package) -> Vec<&str> {
    let kept = package.dependencies.iter().filter(|d| d.kind != DependencyKind::Development);
    kept.map(|dependency| dependency.name.as_str()).collect()
}

/// Asked for once: it takes a while, and reads the manifests of every platform's crates.
static METADATA: LazyLock<Metadata> = LazyLock::new(|| {
    let mut command = MetadataCommand::new();
    command.manifest_path(root().join("Cargo.toml")).other_options(["--locked".to_owned()]);
    command.exec().expect("`cargo metadata --locked` runs")
});

fn folder(package: &Package) -> PathBuf {
    package.manifest_path.as_std_path().parent().expect("a manifest has a folder").to_owned()
}

/// All `.rs` files below, in a stable order; none where there is no such folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}
