//! `fencepost.toml`, lists of known findings, and `--watch`.

#[path = "cli/support.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod support;

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use support::{Folder, all_text, code, run};

const RACE: &str = "kernel race {
    launch { ctas: 2 }
    global x: u32 = 0;
    st.weak [x], 7;
}
";

/// A loop of which nobody knows how often it goes round.
const ENDLESS: &str = "kernel ring(N in 0..=1000) {
    launch { ctas: 1 }
    global x: u32 = 0;
    for i in 0..N { st [x], i; }
}
";

const TWO: &str = "kernel two {
    launch small { ctas: 1 }
    launch big { ctas: 2 }
    global x: u32 = 0;
    st.weak [x], 7;
}
";

fn project(test: &str, files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new(test);
    for (name, text) in files {
        let path = folder.0.join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it is made");
        fs::write(path, text).expect("it is written");
    }
    folder
}

#[test]
fn settings_are_found_above_the_file_and_give_way_to_the_command_line() {
    let folder = project(
        "project-found",
        &[
            ("fencepost.toml", "paths = [\"kernels\"]\nproperties = [\"deadlock\"]\n"),
            ("kernels/deep/race.fence", RACE),
            ("elsewhere/race.fence", RACE),
        ],
    );
    let deep = folder.0.join("kernels/deep");
    for (from, arguments, wanted) in [
        (&folder.0, &["check"][..], 0),
        (&deep, &["check"], 0),
        (&deep, &["check", "race.fence"], 0),
        (&deep, &["check", "race.fence", "--property", "race"], 1),
        (&deep, &["check", "race.fence", "--no-config"], 1),
        (&folder.0, &["check", "elsewhere"], 0),
    ] {
        let output = run(from, arguments);
        assert_eq!(code(&output), wanted, "{arguments:?}\n{}", all_text(&output));
    }
    // Without a path only what the project names is looked at.
    let all = all_text(&run(&deep, &["check", "--format", "brief"]));
    assert_eq!(all.lines().count(), 1, "{all}");
    assert!(all.starts_with("../../kernels/deep/race.fence: race"), "{all}");
    let other = project("project-other", &[("own.toml", "properties = [\"race\"]\n")]);
    let own = other.0.join("own.toml");
    let output = run(&deep, &["check", "race.fence", "--config", own.to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 1, "{}", all_text(&output));
}

#[test]
fn without_a_path_and_a_project_it_is_said_what_to_name() {
    let folder = project("project-none", &[]);
    let output = run(&folder.0, &["check"]);
    assert_eq!(code(&output), 2);
    assert!(
        all_text(&output).contains("no PATH is given, and there is no `fencepost.toml`"),
        "{}",
        all_text(&output)
    );
}

#[test]
fn what_is_no_setting_is_an_error_that_says_what_it_might_have_been() {
    let folder = project("project-unknown", &[("race.fence", RACE)]);
    for (text, parts) in [
        ("buget = 3\n", &["there is no setting `buget`", "did you mean `budget`?", "fencepost.toml:1:1"][..]),
        ("unroll_max = 3\n", &["`unroll_max`", "did you mean `unroll-max`?"]),
        ("property = [\"race\"]\n", &["did you mean `properties`?"]),
        ("quux = 1\n", &["there are paths, launches, properties"]),
        ("properties = [\"rase\"]\n", &["there is no property `rase`", "did you mean `race`?"]),
        ("properties = \"race\"\n", &["is not a list of texts"]),
        ("budget = 0\n", &["`0` is not a whole number of at least 1"]),
        ("budget = 99999999999999999999999\n", &["is not a whole number"]),
        ("unroll = 9\nunroll-max = 4\n", &["9 is above 4"]),
        ("model = \"ptxx\"\n", &["there is no memory model `ptxx`", "did you mean `ptx`?"]),
        ("paths = [\"/etc\"]\n", &["`/etc` is the path of one machine"]),
        (
            "[warnings]\nunused-lett = \"allow\"\n",
            &["`unused-lett` of warnings", "did you mean `unused-let`?"],
        ),
        ("[warnings]\nall = \"forbid\"\n", &["`\"allow\"`, `\"warn\"` or `\"deny\"`"]),
        ("[[accept]]\nkernel = \"k\"\nbound = 4\n", &["has no `reason`", "say why"]),
        ("[[accept]]\nkernel = \"k\"\nbound = 4\nreason = \"\"\n", &["is not a text"]),
        ("[[accept]]\nkernal = \"k\"\n", &["`kernal`", "did you mean `kernel`?"]),
        ("paths = [\n", &["this is no TOML"]),
        ("book = \"docs\"\n", &["the address of the book's first page"]),
        ("a = 1\nbudgett = 2\n", &["there is no setting `a`", "`budgett`"]),
    ] {
        fs::write(folder.0.join("fencepost.toml"), text).expect("it is written");
        let output = run(&folder.0, &["check", "race.fence"]);
        assert_eq!(code(&output), 2, "{text}\n{}", all_text(&output));
        for part in parts {
            assert!(all_text(&output).contains(part), "{part} is not said of {text}\n{}", all_text(&output));
        }
        let line = run(&folder.0, &["check", "race.fence", "--format", "json"]);
        let line: Value = serde_json::from_slice(&line.stdout).expect("it is JSON");
        assert_eq!(line["errors"][0]["code"], "input::settings", "{line}");
        assert_eq!(code(&run(&folder.0, &["fix", "race.fence"])), 2);
    }
    fs::write(folder.0.join("fencepost.toml"), [0xff, 0xfe, 0]).expect("it is written");
    let output = run(&folder.0, &["check", "race.fence"]);
    assert!(code(&output) == 2 && all_text(&output).contains("UTF-8"), "{}", all_text(&output));
}

#[test]
fn launches_that_are_named_are_chosen_where_a_kernel_has_them() {
    let folder = project(
        "project-launches",
        &[("fencepost.toml", "launches = [\"small\"]\n"), ("two.fence", TWO), ("race.fence", RACE)],
    );
    let all = all_text(&run(&folder.0, &["check", ".", "--format", "brief"]));
    assert!(all.contains("two.fence: two (launch small"), "{all}");
    assert!(!all.contains("big") && all.contains("race.fence: race"), "{all}");
    let big = all_text(&run(&folder.0, &["check", ".", "--launch", "big", "--format", "brief"]));
    assert!(big.contains("big"), "{big}");
}

#[test]
fn an_accepted_bound_passes_and_says_why() {
    let accept = |bound: u32| {
        format!(
            "unroll-max = 4\n[[accept]]\nfile = \"ring.fence\"\nkernel = \"ring\"\nbound = {bound}\nreason = \"the slots come round again\"\n"
        )
    };
    let folder = project("project-accept", &[("fencepost.toml", &accept(4)), ("ring.fence", ENDLESS)]);
    let output = run(&folder.0, &["check", "ring.fence"]);
    assert_eq!(code(&output), 0, "{}", all_text(&output));
    let told = "accepted: fencepost.toml:2 takes the bound 4 for good: the slots come round again";
    assert!(all_text(&output).contains(told), "{}", all_text(&output));
    let forms =
        ["check", "ring.fence", "--format", "json,sarif=r.sarif,junit=r.xml,github=r.txt,brief=b.txt"];
    let json: Value = serde_json::from_slice(&run(&folder.0, &forms).stdout).expect("it is one line");
    assert_eq!(json["accepted"]["reason"], "the slots come round again");
    let read = |name: &str| fs::read_to_string(folder.0.join(name)).expect("it was written");
    let sarif: Value = serde_json::from_str(&read("r.sarif")).expect("it is JSON");
    assert_eq!(
        sarif["runs"][0]["results"][0]["suppressions"][0]["justification"],
        "the slots come round again"
    );
    assert!(read("r.xml").contains("tests=\"1\" failures=\"0\" errors=\"0\""), "{}", read("r.xml"));
    assert!(read("r.txt").starts_with("::notice "), "{}", read("r.txt"));
    assert!(read("b.txt").ends_with(" (accepted)\n"), "{}", read("b.txt"));
    // A smaller bound than the one that was looked at is none.
    folder.write("fencepost.toml", accept(5));
    assert_eq!(code(&run(&folder.0, &["check", "ring.fence"])), 3);
}

#[test]
fn warnings_are_as_severe_as_the_project_says() {
    let folder = project("project-warnings", &[("k.fence", "kernel k { global x: u32 = 0; }\n")]);
    let with = |text: &str, arguments: &[&str]| {
        folder.write("fencepost.toml", text);
        let output = run(&folder.0, &[&["check", "k.fence"], arguments].concat());
        (code(&output), all_text(&output).contains("warning::unused-object"))
    };
    assert_eq!(with("", &[]), (0, true));
    assert_eq!(with("[warnings]\nunused-object = \"deny\"\n", &[]), (1, true));
    assert_eq!(with("[warnings]\nall = \"deny\"\n", &[]), (1, true));
    assert_eq!(with("[warnings]\n\"warning::unused-object\" = \"allow\"\n", &[]), (0, false));
    // What is allowed by name stays so.
    assert_eq!(with("[warnings]\nunused-object = \"allow\"\n", &["--deny", "warnings"]), (0, false));
    assert_eq!(with("[warnings]\nall = \"deny\"\n", &["--no-warnings"]), (0, false));
}

/// With lines above it, another launch before it, and one more finding that is alike.
fn moved(text: &str) -> String {
    format!("// A line.\n\n{text}")
}

#[test]
fn known_findings_are_listed_and_pass_and_those_that_are_gone_are_told() {
    let folder = project("project-baseline", &[("kernels/race.fence", RACE), ("ci/.keep", "")]);
    let list = ["check", "kernels", "--baseline", "ci/known.json"];
    let missing = run(&folder.0, &list);
    assert!(code(&missing) == 2 && all_text(&missing).contains("ci/known.json"), "{}", all_text(&missing));
    let written = run(&folder.0, &[&list[..], &["--write-baseline"]].concat());
    assert_eq!(code(&written), 0, "{}", all_text(&written));
    let text = fs::read_to_string(folder.0.join("ci/known.json")).expect("it was written");
    let known: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(known["findings"][0]["file"], "../kernels/race.fence");
    assert_eq!(known["findings"][0]["names"][0], "x");
    assert!(!text.contains("\"line\""), "{text}");

    let check = |wanted: i32, part: &str| {
        let output = run(&folder.0, &list);
        assert!(code(&output) == wanted && all_text(&output).contains(part), "{}", all_text(&output));
    };
    check(0, "known: race::uniform at kernels/race.fence:4:5 is listed in ci/known.json");
    check(0, "nothing new");
    // Lines and other folders do not matter.
    folder.write("kernels/race.fence", moved(RACE));
    check(0, "known: race::uniform at kernels/race.fence:6:5");
    let inside = run(&folder.0.join("kernels"), &["check", "race.fence", "--baseline", "../ci/known.json"]);
    assert_eq!(code(&inside), 0, "{}", all_text(&inside));
    // Something else is new.
    folder.write("kernels/race.fence", RACE.replace("st.weak", "st.relaxed.cta"));
    check(1, "race::");
    folder.write(
        "kernels/race.fence",
        RACE.replace("    st", "    st.weak [y], 7;\n    st").replace("0;", "0; global y: u32 = 0;"),
    );
    let forms =
        [&list[..], &["--format", "json,sarif=r.sarif,junit=r.xml,github=r.txt,brief=b.txt"]].concat();
    let output = run(&folder.0, &forms);
    assert_eq!(code(&output), 1, "{}", all_text(&output));
    let json: Value = serde_json::from_slice(&output.stdout).expect("it is one line");
    let flags: Vec<bool> =
        json["findings"].as_array().expect("a list").iter().map(|one| one["known"] == true).collect();
    assert_eq!(flags.iter().filter(|known| **known).count(), 1, "{json}");
    let read = |name: &str| fs::read_to_string(folder.0.join(name)).expect("it was written");
    let sarif: Value = serde_json::from_str(&read("r.sarif")).expect("it is JSON");
    let states: Vec<&str> = sarif["runs"][0]["results"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|result| result["baselineState"].as_str())
        .collect();
    assert!(states.contains(&"new") && states.contains(&"unchanged"), "{states:?}");
    assert!(read("r.xml").contains("data race on `y`"), "{}", read("r.xml"));
    assert!(read("r.txt").contains("::notice ") && read("r.txt").contains("::error "), "{}", read("r.txt"));
    assert!(read("b.txt").contains("(1 of 2 known)"), "{}", read("b.txt"));

    folder.write("kernels/race.fence", RACE.replace("ctas: 2", "ctas: 1"));
    check(0, "note: gone from ci/known.json: ../kernels/race.fence: `race::uniform` of kernel race");
    // With less than the project looks at, nothing is known to have gone; with all that it looks at, it is.
    folder.write("fencepost.toml", "properties = [\"race\"]\n");
    check(0, "note: gone from");
    let less = run(&folder.0, &[&list[..], &["--property", "race"]].concat());
    assert!(!all_text(&less).contains("gone"), "{}", all_text(&less));
    fs::remove_file(folder.0.join("fencepost.toml")).expect("it was there");
    // A file that this run does not look at has lost nothing; one that is no more has.
    folder.write("kernels/race.fence", RACE);
    folder.write("other.fence", RACE.replace("race", "other"));
    let other = run(&folder.0, &["check", "other.fence", "--baseline", "ci/known.json", "--format", "brief"]);
    assert!(code(&other) == 1 && !all_text(&other).contains("gone"), "{}", all_text(&other));
    fs::remove_file(folder.0.join("kernels/race.fence")).expect("it was there");
    let other = run(&folder.0, &["check", "other.fence", "--baseline", "ci/known.json", "--write-baseline"]);
    assert!(code(&other) == 0 && all_text(&other).contains("gone from"), "{}", all_text(&other));
    let text = fs::read_to_string(folder.0.join("ci/known.json")).expect("it was written");
    assert!(text.contains("other.fence") && !text.contains("race.fence"), "{text}");
    folder.write("ci/known.json", "{ \"schema\": \"other/1\", \"findings\": [] }");
    let output = run(&folder.0, &["check", "other.fence", "--baseline", "ci/known.json"]);
    assert!(code(&output) == 2 && all_text(&output).contains("`other/1`"), "{}", all_text(&output));
}

#[test]
fn a_cache_knows_the_list_and_the_settings() {
    let folder = project("project-cache", &[("race.fence", RACE)]);
    let check =
        |more: &[&str]| code(&run(&folder.0, &[&["check", "race.fence", "--cache", "kept"], more].concat()));
    assert_eq!(check(&[]), 1);
    assert_eq!(check(&["--baseline", "known.json", "--write-baseline"]), 0);
    for _ in 0..2 {
        assert_eq!(check(&["--baseline", "known.json"]), 0);
        assert_eq!(check(&[]), 1);
    }
    // What is told of the list comes out of the cache, too.
    folder.write("race.fence", RACE.replace("ctas: 2", "ctas: 1"));
    for _ in 0..2 {
        let output = run(&folder.0, &["check", "race.fence", "--cache", "kept", "--baseline", "known.json"]);
        assert!(code(&output) == 0 && all_text(&output).contains("note: gone"), "{}", all_text(&output));
    }
    folder.write("fencepost.toml", "properties = [\"deadlock\"]\n");
    folder.write("race.fence", RACE);
    assert_eq!(check(&[]), 0);
}

#[test]
fn fingerprints_stay_where_lines_move_and_codes_link_to_the_book() {
    let folder = project("project-sarif", &[("race.fence", RACE)]);
    let log = || -> Value {
        let output = run(&folder.0, &["check", "race.fence", "--format", "sarif"]);
        serde_json::from_slice(&output.stdout).expect("it is JSON")
    };
    let print = |log: &Value| log["runs"][0]["results"][0]["partialFingerprints"]["fencepost/v1"].clone();
    let first = log();
    assert!(print(&first).as_str().is_some_and(|print| print.len() == 32), "{first}");
    assert_eq!(first["runs"][0]["tool"]["driver"]["rules"][0]["helpUri"], Value::Null);
    folder.write("race.fence", moved(RACE));
    folder.write("fencepost.toml", "book = \"https://example.org/fencepost/\"\n");
    let second = log();
    assert_eq!(print(&first), print(&second));
    let uri = &second["runs"][0]["tool"]["driver"]["rules"][0]["helpUri"];
    assert_eq!(uri, "https://example.org/fencepost/reference/codes/race.html#raceuniform");
    folder.write("race.fence", RACE.replace("x", "y"));
    assert_ne!(print(&log()), print(&first));
}

/// `--watch`, and the lines that it has printed.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fencepost"))
            .args(["check", "--watch"])
            .args(arguments)
            .current_dir(folder)
            .env("NO_COLOR", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let (send, lines) = channel();
        let (out, err) =
            (child.stdout.take().expect("it is piped"), child.stderr.take().expect("it is piped"));
        let other = send.clone();
        thread::spawn(move || {
            BufReader::new(out).lines().map_while(Result::ok).for_each(|line| drop(send.send(line)))
        });
        thread::spawn(move || {
            BufReader::new(err).lines().map_while(Result::ok).for_each(|line| drop(other.send(line)))
        });
        Self { child, lines }
    }

    /// All lines up to one that has this in it.
    fn until(&self, part: &str) -> Vec<String> {
        self.until_all(&[part])
    }

    /// All lines until each of these was in one, in whatever order they come from the two streams.
    fn until_all(&self, parts: &[&str]) -> Vec<String> {
        let (mut seen, end) = (Vec::<String>::new(), Instant::now() + Duration::from_secs(60));
        while !parts.iter().all(|part| seen.iter().any(|line| line.contains(part))) {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            seen.push(line.unwrap_or_else(|_| panic!("{parts:?} was not said:\n{}", seen.join("\n"))));
        }
        seen
    }

    /// That nothing is said for a while.
    fn is_quiet(&self) {
        if let Ok(line) = self.lines.recv_timeout(Duration::from_millis(900)) {
            panic!("{line}");
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_changes_is_checked_again_and_nothing_else_is_said() {
    let folder = project(
        "project-watch",
        &[
            ("race.fence", RACE),
            ("fine.fence", "use \"one.fence\";\nkernel fine { global x: u32 = 0; st [x], one(); }\n"),
        ],
    );
    folder.write("one.fence", "fn one() -> u32 { return 1; }\n");
    let mut watching = Watching::start(&folder.0, &["."]);
    watching.until_all(&["watching for changes", "2 launches checked: 1 proved, 1 violated"]);
    // Saved as it was.
    folder.write("race.fence", RACE);
    watching.is_quiet();
    folder.write("race.fence", RACE.replace("ctas: 2", "ctas: 1"));
    let again = watching.until("1 launch checked");
    assert!(again.iter().any(|line| line.contains("race.fence")), "{again:#?}");
    assert!(!again.iter().any(|line| line.contains("fine.fence")), "{again:#?}");
    // A change that changes nothing that is said.
    folder.write("race.fence", RACE.replace("ctas: 2", "ctas: 1") + "// Seen.\n");
    assert_eq!(watching.until("race.fence"), ["race.fence: as before"]);
    watching.is_quiet();
    // What a file uses.
    folder.write("one.fence", "fn one() -> u32 { return 1 }\n");
    watching.until_all(&["one.fence:1", "rejected input was not checked"]);
    folder.write("one.fence", "fn one() -> u32 { return 1; }\n");
    watching.until("1 launch checked: 1 proved");
    // A file that comes, one that goes, and settings.
    folder.write("new.fence", RACE.replace("race", "new"));
    watching.until("1 launch checked: 1 violated");
    fs::remove_file(folder.0.join("new.fence")).expect("it was there");
    watching.until("new.fence: gone");
    folder.write("fencepost.toml", "properties = [\"deadlock\"]\n");
    watching.until("launches checked");
    watching.is_quiet();
    end(&mut watching);
}

/// Ctrl-C.
#[cfg(unix)]
fn end(watching: &mut Watching) {
    let id = watching.child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status().expect("there is such a command");
    assert!(sent.success());
    let began = Instant::now();
    loop {
        if let Some(status) = watching.child.try_wait().expect("it can be asked") {
            assert_eq!(status.code(), Some(0));
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "it does not end");
        thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(not(unix))]
fn end(_: &mut Watching) {}

#[test]
fn what_cannot_be_watched_is_refused() {
    let folder = project("project-unwatched", &[("race.fence", RACE)]);
    for (arguments, part) in [
        (&["-"][..], "standard input is read once"),
        (&["race.fence", "--format", "sarif"], "one document of a whole run"),
        (&["race.fence", "--format", "brief,junit=r.xml"], "one document of a whole run"),
    ] {
        let output = run(&folder.0, &[&["check", "--watch"], arguments].concat());
        assert!(code(&output) == 2 && all_text(&output).contains(part), "{}", all_text(&output));
    }
}
