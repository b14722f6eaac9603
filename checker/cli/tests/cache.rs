//! `--cache`: the same bytes again, and nothing of another text, option or program; and runs that are interrupted.

#[path = "cli/support.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Folder, code, run};

const RACE: &str = "kernel race {
    launch { ctas: 2 }
    global x: u32 = 0;
    st.weak [x], ctaid;
}
";

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("kept")).expect("the folder was made");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    paths
}

#[test]
fn a_second_run_says_the_same_without_checking() {
    let folder = Folder::new("cache-again");
    fs::write(folder.0.join("race.fence"), RACE).expect("it is written");
    fs::write(folder.0.join("fine.fence"), RACE.replace("ctas: 2", "ctas: 1")).expect("it is written");
    let forms = ["check", ".", "--cache", "kept", "--format", "json,sarif=r.sarif,junit=r.xml,pretty=r.txt"];
    let documents = || {
        ["r.sarif", "r.xml", "r.txt"]
            .map(|name| fs::read_to_string(folder.0.join(name)).expect("it was written"))
    };
    let first = run(&folder.0, &forms);
    let written = documents();
    assert_eq!((code(&first), entries(&folder.0).len()), (1, 2));
    // Times are written only by who has taken the time; so the bytes show that nothing was checked again.
    let again = run(&folder.0, &forms);
    assert_eq!((code(&again), &again.stdout, &again.stderr), (1, &first.stdout, &first.stderr));
    assert_eq!(documents(), written);
    let one_by_one = run(&folder.0, &[&forms[..], &["--jobs", "1"]].concat());
    assert_eq!(one_by_one.stdout, first.stdout);
    assert!(written[2].contains("2 launches checked: 1 proved, 1 violated"), "{}", written[2]);
    assert_eq!(entries(&folder.0).len(), 2);
}

#[test]
fn another_text_option_or_model_is_another_entry() {
    let folder = Folder::new("cache-keys");
    fs::write(folder.0.join("lib.fence"), "fn put(x: &u32) { st.weak [x], ctaid; }\n")
        .expect("it is written");
    let importing =
        RACE.replace("kernel", "use \"lib.fence\";\nkernel").replace("st.weak [x], ctaid", "put(x)");
    fs::write(folder.0.join("race.fence"), &importing).expect("it is written");
    let check =
        |more: &[&str]| code(&run(&folder.0, &[&["check", "race.fence", "--cache", "kept"], more].concat()));
    let mut n_entries = 0;
    let mut is_new = || {
        let before = std::mem::replace(&mut n_entries, entries(&folder.0).len());
        n_entries == before + 1
    };
    assert_eq!((check(&[]), is_new()), (1, true));
    assert_eq!((check(&["--launch", "ctas=1"]), is_new()), (0, true));
    assert_eq!((check(&["--property", "deadlock"]), is_new()), (0, true));
    assert_eq!((check(&["--model", "ptx-6.0"]), is_new()), (1, true));
    // What is imported counts as what is written in the file itself.
    fs::write(folder.0.join("lib.fence"), "fn put(x: &u32) { st.relaxed.gpu [x], ctaid; }\n")
        .expect("it is written");
    assert_eq!((check(&[]), is_new()), (0, true));
    assert_eq!((check(&["--jobs", "1"]), is_new()), (0, false));
}

#[test]
fn damaged_entries_are_warned_of_and_made_anew() {
    let folder = Folder::new("cache-damage");
    fs::write(folder.0.join("race.fence"), RACE).expect("it is written");
    let check = || run(&folder.0, &["check", "race.fence", "--cache", "kept", "--format", "brief"]);
    let first = check();
    let entry = entries(&folder.0).remove(0);
    let text = fs::read_to_string(&entry).expect("it is text");
    // Of a proof nobody has made; cut off; nothing; not text.
    let forged = text.replace("violated", "proved");
    assert_ne!(forged, text);
    for damaged in [forged.as_bytes(), &text.as_bytes()[..text.len() / 2], b"", &[0xff, 0xfe]] {
        fs::write(&entry, damaged).expect("it is written");
        let again = check();
        assert_eq!((code(&again), &again.stdout), (1, &first.stdout));
        let complaint = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(complaint.starts_with("warning: an entry of the cache is not used: kept"), "{complaint}");
        assert_eq!(fs::read_to_string(&entry).expect("it was made anew"), text);
    }
    assert!(check().stderr.is_empty());
    // A folder that cannot be one.
    let elsewhere = run(&folder.0, &["check", "race.fence", "--cache", "race.fence", "--format", "brief"]);
    assert_eq!((code(&elsewhere), &elsewhere.stdout), (1, &first.stdout));
    assert!(String::from_utf8_lossy(&elsewhere.stderr).starts_with("warning: nothing is cached: race.fence"));
}

#[test]
fn what_a_clock_has_ended_is_not_kept() {
    let folder = Folder::new("cache-clock");
    fs::write(folder.0.join("long.fence"), long()).expect("it is written");
    let line = [
        "check",
        "long.fence",
        "--cache",
        "kept",
        "--timeout",
        "1",
        "--budget",
        "1000000",
        "--format",
        "json",
    ];
    let stopped = run(&folder.0, &line);
    assert!(String::from_utf8_lossy(&stopped.stdout).contains("\"name\":\"timeout\""));
    assert!(entries(&folder.0).is_empty());
}

/// A kernel that is soon checked and one that takes hours.
fn long() -> String {
    RACE.to_owned() + include_str!("../../tests/long.fence")
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_what_it_has_in_whole_lines() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let folder = Folder::new("interrupt");
    let text = long() + "kernel never { launch { ctas: 1 } }\n";
    fs::write(folder.0.join("long.fence"), text).expect("it is written");
    for jobs in ["1", "2"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fencepost"))
            .args(["check", "long.fence", "--budget", "1000000", "--format", "json", "--jobs", jobs])
            .arg("--no-warnings")
            .current_dir(&folder.0)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut line = || -> Option<Value> {
            let line = lines.next()?.expect("it is text");
            Some(serde_json::from_str(&line).expect("a line is an object"))
        };
        assert_eq!(line().expect("the first launch is soon done")["verdict"], "violated");
        // The second would go on for hours.
        let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(told.expect("there is `kill`").success());
        let second = line().expect("it is said as well");
        assert_eq!(
            (&second["verdict"], &second["limit"]["name"]),
            (&"inconclusive".into(), &"interrupt".into())
        );
        let third = line().expect("it is said as well");
        // With two jobs it may have been done before.
        assert!(third["verdict"] == "proved" || third["limit"]["name"] == "interrupt", "{third}");
        assert!(line().is_none());
        assert_eq!(child.wait().expect("it ends").code(), Some(1));
    }
}
