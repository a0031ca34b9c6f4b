use super::Clear;
use crate::store::catalogs::tests::{entry, lists, open, tool};

#[test]
fn a_clear_takes_all_of_one_server_and_nothing_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = open(folder.path());
    let [one, two] = ["one", "two"].map(|token| catalogs.identity(&entry(token), &[]).unwrap());
    catalogs.write(&lists(&one, 1, "a")).unwrap();
    catalogs.write(&lists(&two, 2, "b")).unwrap();
    let mut other = lists(&one, 3, "c");
    other.server = "other".to_owned();
    other.fingerprint = "0123456789abcdef".to_owned();
    catalogs.write(&other).unwrap();
    let clear = Clear::One { server: "s", fingerprint: None };
    let removed = catalogs.clear(clear).unwrap();
    // Two values of its variable: the index knows of the last one only.
    assert_eq!(removed.files.len(), 2, "{removed:?}");
    assert_eq!(removed.servers.iter().collect::<Vec<_>>(), ["s"]);
    assert_eq!((tool(&catalogs, &one), tool(&catalogs, &two)), (None, None));
    let kept = catalogs.kept();
    assert_eq!(kept.iter().map(|row| &row.server).collect::<Vec<_>>(), ["other"]);
    assert!(kept[0].bytes.is_some_and(|bytes| bytes > 100), "{kept:?}");
    assert_eq!(catalogs.cleared().into_iter().collect::<Vec<_>>(), ["s"]);
}

#[test]
fn a_file_that_two_entries_share_is_the_list_of_neither_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = open(folder.path());
    let identity = catalogs.identity(&entry("t"), &[]).unwrap();
    for (at, server) in [(1, "s"), (2, "twin")] {
        let mut lists = lists(&identity, at, "a");
        lists.server = server.to_owned();
        catalogs.write(&lists).unwrap();
    }
    let removed = catalogs.clear(Clear::One { server: "s", fingerprint: None }).unwrap();
    assert_eq!(removed.servers.iter().collect::<Vec<_>>(), ["s", "twin"]);
    assert_eq!(tool(&catalogs, &identity), None);
    assert!(catalogs.kept().is_empty());
}

#[test]
fn a_clear_of_all_leaves_no_list_and_also_nothing_that_was_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = open(folder.path());
    let [one, two] = ["one", "two"].map(|token| catalogs.identity(&entry(token), &[]).unwrap());
    catalogs.write(&lists(&one, 1, "a")).unwrap();
    catalogs.write(&lists(&two, 2, "b")).unwrap();
    let cache = folder.path().join("cache/catalog");
    std::fs::write(cache.join(two.file()), "damaged").unwrap();
    catalogs.read(&two).unwrap_err();
    let known = ["never-listed".to_owned()];
    let removed = catalogs.clear(Clear::All(&known)).unwrap();
    assert_eq!(removed.files.len(), 2, "{removed:?}");
    let left = std::fs::read_dir(&cache).unwrap().map(|file| file.unwrap().file_name());
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, ["cleared.json", "index.jsonl", "lock"]);
    assert_eq!(catalogs.cleared().into_iter().collect::<Vec<_>>(), ["never-listed", "s"]);
    // A listing after that is kept as ever.
    catalogs.write(&lists(&one, 3, "c")).unwrap();
    assert_eq!(tool(&catalogs, &one).unwrap(), r#"{"name":"c"}"#);
}
