//! Words that make no command.

use crate::sandbox::Sandbox;

#[test]
fn a_usage_error_is_two_and_with_json_a_document() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.run(&["lits"]), @r"
    --- stderr
    error: unrecognized subcommand 'lits'

      tip: a similar subcommand exists: 'list'

    Usage: herm [OPTIONS] <COMMAND>

    For more information, try '--help'.
    --- exit 2
    ");
    insta::assert_snapshot!(sandbox.run(&["--json", "call"]), @r#"
    --- stdout
    {"v":1,"error":{"kind":"usage","message":"the following required arguments were not provided:","server":null,"tool":null,"hint":"<NAME> Usage: herm call <NAME> [KEY=VALUE]... For more information, try '--help'.","retry_after_ms":null}}
    --- stderr
    error: the following required arguments were not provided:
    hint: <NAME> Usage: herm call <NAME> [KEY=VALUE]... For more information, try '--help'.
    --- exit 2
    "#);
    insta::assert_snapshot!(sandbox.run(&["call", "a.b", "novalue"]), @r"
    --- stderr
    error: `novalue` is no argument: write `key=value` or `key:=JSON`
    --- exit 2
    ");
    insta::assert_snapshot!(sandbox.run(&["call", "a.b", "--timeout", "-1"]), @r"
    --- stderr
    error: unexpected argument '-1' found

      tip: to pass '-1' as a value, use '-- -1'

    Usage: herm call [OPTIONS] <NAME> [KEY=VALUE]...

    For more information, try '--help'.
    --- exit 2
    ");
    insta::assert_snapshot!(sandbox.run(&["--json", "call", "a.b", "--args", "[]"]), @r#"
    --- stdout
    {"v":1,"error":{"kind":"usage","message":"`--args` must be a JSON object: invalid type: sequence, expected a JSON object at line 1 column 0","server":null,"tool":null,"hint":null,"retry_after_ms":null}}
    --- stderr
    error: `--args` must be a JSON object: invalid type: sequence, expected a JSON object at line 1 column 0
    --- exit 2
    "#);
    insta::assert_snapshot!(sandbox.run(&["call", "a.b", "--args", "@/no/such"]), @r"
    --- stderr
    error: `/no/such` cannot be read: no such file
    --- exit 2
    ");
    assert_eq!(sandbox.output(&[]).status.code(), Some(2));
}

#[test]
fn the_alias_of_the_reference_reaches_every_command() {
    let sandbox = Sandbox::with("mcp_servers: {}");
    assert_eq!(sandbox.run(&["mcp", "list"]), sandbox.run(&["list"]));
    insta::assert_snapshot!(sandbox.run(&["mcp", "serve", "-v"]), @r"
    --- stderr
    error: `herm mcp serve` is reserved for the messaging bridge, which is not built yet
    hint: the server that offers the tools of all your servers is `herm serve`
    --- exit 2
    ");
}

#[test]
#[expect(clippy::too_many_lines, reason = "most of it is snapshots")]
fn help_and_completions_are_data() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.run(&["--help"]), @r"
    --- stdout
    Connect to MCP servers, list what they offer, call it

    Usage: herm [OPTIONS] <COMMAND>

    Commands:
      list         List the configured servers [alias: ls]
      show         Show one server in full, secrets hidden
      check        Check the configuration
      test         Start or contact servers, and say how each phase went
      tools        List the tools that can be called, by their exposed names
      call         Call a tool
      resources    List the resources of servers, and the templates of their URIs
      read         Read a resource
      prompts      List the prompts of servers
      prompt       Get a prompt, filled in with arguments
      cache        Show or remove what is kept of the lists of servers
      status       Show how the servers of running hosts are
      logs         Show the host's log, or what a server wrote to its standard error
      reload       Make a running host read its configuration again
      restart      Start one server of a running host again
      stop         End a running host
      demo         See herm work: no configuration, no network
      completions  Print a completion script for a shell
      serve        Serve the tools of all servers to one MCP client
      mcp          Every command again, so that `hermes mcp list` and its kin carry over
      help         Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Global options:
          --config <FILE>   Use this configuration file, and the .env file beside it
          --profile <NAME>  Use the home `profiles/NAME`
          --json            Print one JSON document to standard output
          --quiet           Print data, warnings and errors only
          --verbose         Print more of what is going on
          --no-color        Print without colours (also: `NO_COLOR`)
          --no-input        Never ask anything
          --safe-mode       Start and contact nothing (also: `HERM_SAFE_MODE`)
    --- exit 0
    ");
    insta::assert_snapshot!(sandbox.run(&["call", "--help"]), @r"
    --- stdout
    Call a tool

    Text goes to standard output as it is; images, sounds and other bytes go to files whose paths are
    printed. Only the server that has the tool is started.

    Usage: herm call [OPTIONS] <NAME> [KEY=VALUE]...

    Arguments:
      <NAME>
              The exposed name (`mcp__SERVER__TOOL`), or `SERVER.TOOL`

      [KEY=VALUE]...
              Arguments: `key=value`, typed by the tool's schema, or `key:=JSON`

    Options:
          --args <JSON|@FILE|->
              Arguments as a JSON object: the text itself, `@FILE`, or `-` for standard input;
              `key=value` beside it wins

          --timeout <S>
              Give up after so many seconds

          --yes
              Say yes where a call needs approval

          --save <DIR>
              Save images, sounds and other bytes in this folder

          --max-chars <N>
              Cut texts over N characters in the middle

          --direct
              Do not ask a running host of this home: start the server for this command

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --config <FILE>
              Use this configuration file, and the .env file beside it

          --profile <NAME>
              Use the home `profiles/NAME`

          --json
              Print one JSON document to standard output

          --quiet
              Print data, warnings and errors only

          --verbose
              Print more of what is going on

          --no-color
              Print without colours (also: `NO_COLOR`)

          --no-input
              Never ask anything

          --safe-mode
              Start and contact nothing (also: `HERM_SAFE_MODE`)
    --- exit 0
    ");
    let own = |words: &[&str]| sandbox.run(words).split("\nGlobal").next().unwrap().to_owned();
    insta::assert_snapshot!(own(&["cache", "clear", "--help"]), @r"
    --- stdout
    Remove what is kept of one server, or of all

    The next `herm tools` or `herm serve` lists a server anew; what a Hermes home keeps of it is not
    taken over again. A running host keeps what it holds in memory, and keeps on disk what it lists
    after this.

    Usage: herm cache clear [OPTIONS] [NAME]

    Arguments:
      [NAME]
              Only of this server; without: of all

    Options:
      -h, --help
              Print help (see a summary with '-h')
    ");
    insta::assert_snapshot!(own(&["tools", "--help"]), @r"
    --- stdout
    List the tools that can be called, by their exposed names

    What herm knows of an enabled server is shown as it was last listed, with its age: nothing is
    started or contacted for it. A server that is not known is connected, and its list is kept. What was
    found is printed even if a server did not answer; the exit code is 7 then; for one server that is
    named, that of its failure.

    Usage: herm tools [OPTIONS] [NAME]

    Arguments:
      [NAME]
              Only the tools of this server

    Options:
          --schema
              Print the whole definition of each tool

          --live
              Connect to every server, and list it anew

          --direct
              Do not ask a running host of this home: start the server for this command

      -h, --help
              Print help (see a summary with '-h')
    ");
    for shell in ["bash", "zsh", "fish"] {
        let output = sandbox.output(&["completions", shell]);
        assert!(output.status.success(), "{shell}");
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains("resources") && !script.is_empty(), "{shell}");
    }
}

#[test]
fn a_reader_that_goes_away_is_a_quiet_end() {
    let sandbox = Sandbox::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = sandbox.command().args(["completions", "bash"]).stdout(writer).output().unwrap();
    insta::assert_snapshot!(sandbox.shown(&output), @"--- exit 0");
}
