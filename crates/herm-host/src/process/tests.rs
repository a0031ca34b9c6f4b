use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::*;
use crate::transport::LinkError;

/// A plan with our PATH and nothing else in its environment.
pub(crate) fn plan(command: &str, args: &[&str]) -> SpawnPlan {
    let path = std::env::var("PATH").unwrap();
    SpawnPlan {
        target: StdioTarget {
            command: command.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            ..StdioTarget::default()
        },
        environment: [("PATH".to_owned(), path.into())].into(),
        home: None,
        care: Care { helper: None, log: None, limit: Duration::from_secs(10) },
    }
}

/// The process has ended; it may be a zombie that its new parent is about to reap.
#[cfg(target_os = "linux")]
pub(crate) fn gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.starts_with(" Z"))
}

fn write(file: &Path, text: &str, mode: u32) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
}

async fn refusal(plan: &SpawnPlan) -> LinkError {
    spawn(plan).await.expect_err("it must not start")
}

#[tokio::test]
async fn a_missing_command_shows_the_path_that_was_searched() {
    let mut plan = plan("no-such-server", &[]);
    plan.environment.insert("PATH".to_owned(), "/one::/two".into());
    let LinkError::NotFound { command, path } = refusal(&plan).await else { panic!() };
    assert_eq!((command.as_str(), path.as_str()), ("no-such-server", "/one:/two"));

    plan.target.command = "/no/such/server".to_owned();
    let LinkError::NotFound { path, .. } = refusal(&plan).await else { panic!() };
    assert_eq!(path, "/no/such/server");
}

#[tokio::test]
async fn our_own_path_is_not_searched() {
    let mut plan = plan("sh", &[]);
    plan.environment.insert("PATH".to_owned(), "/nowhere".into());
    assert!(matches!(refusal(&plan).await, LinkError::NotFound { .. }));
}

#[tokio::test]
async fn a_file_without_execute_bit_is_told_from_a_missing_one() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("server"), "#!/bin/sh\n", 0o644);
    let mut plan = plan("server", &[]);
    let path = format!("{}:/usr/bin", folder.path().display());
    plan.environment.insert("PATH".to_owned(), path.into());
    let LinkError::NotExecutable { path } = refusal(&plan).await else { panic!() };
    assert_eq!(path, folder.path().join("server").display().to_string());
}

/// Lets a child write the file: a file that this process had open for writing while another test
/// forked would be busy.
async fn written_by_a_child(folder: &Path, text: &str) -> SpawnPlan {
    let script = format!("printf '{text}' > server && chmod +x server");
    let mut writer = plan("sh", &["-c", &script]);
    writer.target.cwd = Some(folder.display().to_string());
    assert_eq!(spawn(&writer).await.unwrap().tree.exit().await.code, Some(0));
    plan(&folder.join("server").display().to_string(), &[])
}

#[tokio::test]
async fn a_script_without_interpreter_line_is_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let plan = written_by_a_child(folder.path(), "echo hello\\n").await;
    assert!(
        matches!(refusal(&plan).await, LinkError::BadFormat { .. }),
        "{:?}",
        refusal(&plan).await
    );
}

#[tokio::test]
async fn a_missing_interpreter_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let plan = written_by_a_child(folder.path(), "#!/no/such/node -x\\n").await;
    let LinkError::Spawn { why, .. } = refusal(&plan).await else {
        panic!("{:?}", refusal(&plan).await)
    };
    assert!(why.contains("`/no/such/node -x`"), "{why}");
}

#[tokio::test]
async fn a_working_directory_that_is_none_is_named() {
    let mut plan = plan("sh", &[]);
    for bad in ["/no/such/folder", "/etc/passwd"] {
        plan.target.cwd = Some(bad.to_owned());
        let LinkError::BadDirectory { path } = refusal(&plan).await else { panic!() };
        assert_eq!(path, bad);
    }
}

#[tokio::test]
async fn an_argument_that_cannot_be_passed_is_refused_and_not_cut() {
    let error = refusal(&plan("sh", &["-c", "a\0b"])).await;
    assert!(matches!(error, LinkError::Spawn { .. }), "{error:?}");
}

#[test]
fn npx_is_found_where_version_managers_put_it() {
    let home = tempfile::tempdir().unwrap();
    let mut plan = plan("npx", &[]);
    plan.environment.insert("PATH".to_owned(), "/nowhere".into());
    plan.environment.insert("HOME".to_owned(), home.path().display().to_string().into());
    plan.home = Some(home.path().join("herm"));

    for place in [".local/bin", "herm/node/bin"] {
        let file = home.path().join(place).join("npx");
        write(&file, "#!/bin/sh\n", 0o755);
        let found = lookup::find(&plan, Path::new("/")).unwrap();
        assert_eq!(found.file, file);
        let path = format!("{}:/nowhere", file.parent().unwrap().display());
        assert_eq!(found.path.to_str(), Some(path.as_str()), "node must be found beside it");
    }

    plan.target.command = "npx2".to_owned();
    write(&home.path().join(".local/bin/npx2"), "#!/bin/sh\n", 0o755);
    assert!(lookup::find(&plan, Path::new("/")).is_err(), "only Node has such places");
}

#[test]
fn a_relative_command_starts_from_the_working_directory() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bin/server");
    write(&file, "#!/bin/sh\n", 0o755);
    let found = lookup::find(&plan("bin/server", &[]), folder.path()).unwrap();
    assert_eq!(found.file, file);
}

#[tokio::test]
async fn a_helper_that_is_none_fails_the_start_and_is_named_as_the_cause() {
    let mut plan = plan("sleep", &["1000"]);
    // The second one ends without a word, as an old version of a program would.
    for (helper, wanted) in [("/no/such/helper", "No such file"), ("/bin/true", "it ended before")]
    {
        plan.care.helper = Some(helper.into());
        let LinkError::Spawn { why, .. } = refusal(&plan).await else { panic!("{helper}") };
        assert!(why.starts_with("the helper") && why.contains(wanted), "{why}");
    }
}

#[cfg(target_os = "linux")]
mod remains {
    use rustix::process::{Pid, Signal, kill_process};
    use tokio::time::{Instant, timeout};

    use super::super::{leader::Leader, remains::Remains, sweep::Process, tree::vanish};
    use super::*;

    fn pid(tree: &Tree) -> Pid {
        Pid::from_raw(tree.pid().cast_signed()).unwrap()
    }

    #[tokio::test]
    async fn what_does_not_vanish_is_returned_at_the_deadline() {
        let tree = spawn(&plan("sleep", &["1000"])).await.unwrap().tree;
        // No process has this marker, so nothing is killed: that is what KILL does to a stuck one.
        let until = Instant::now() + Duration::from_millis(50);
        let left = vanish("nobody's", pid(&tree), until).await;
        assert_eq!(left, Process::of(pid(&tree)).into_iter().collect::<Vec<_>>());
        assert!(Instant::now() >= until);
    }

    #[tokio::test]
    async fn remains_are_gone_when_their_last_process_is_and_leave_no_zombie() {
        let tree = spawn(&plan("sleep", &["1000"])).await.unwrap().tree;
        let pid = pid(&tree);
        let left = Process::of(pid).into_iter().collect();
        let remains = Remains::new(tree.into_leader(), left);
        assert_eq!(remains.pids(), [pid.as_raw_nonzero().get().unsigned_abs()]);
        let error = LinkError::Unkillable { remains: remains.clone() };
        assert!(error.to_string().ends_with(&format!("KILL has left process {pid}")), "{error}");
        drop(error);
        timeout(Duration::from_millis(50), remains.gone()).await.unwrap_err();

        kill_process(pid, Signal::KILL).unwrap();
        timeout(Duration::from_secs(10), remains.gone()).await.unwrap();
        assert!(remains.pids().is_empty());
        drop(remains);
        let deadline = Instant::now() + Duration::from_secs(10);
        while Path::new(&format!("/proc/{pid}")).exists() {
            assert!(Instant::now() < deadline, "it is not reaped");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn a_later_process_with_the_same_number_is_another_one() {
        let own = Process::of(rustix::process::getpid()).unwrap();
        assert!(own.runs());
        let first = Process::of(Pid::INIT).unwrap();
        assert_ne!(own, first);
        let tree = spawn(&plan("true", &[])).await.unwrap();
        let mut leader: Leader = {
            let mut tree = tree.tree;
            tree.exit().await;
            tree.into_leader()
        };
        assert!(Process::of(leader.pid()).is_none(), "a zombie does not run");
        assert_eq!(leader.peek().unwrap().code, Some(0));
        leader.reap();
    }
}
