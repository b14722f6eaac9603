//! What somebody meets first: `fencepost` alone, the kernels that `fencepost new` writes, completions and manual pages.

#[path = "cli/support.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod support;

use std::path::Path;
use support::{Folder, all_text, check, code, run};

/// The names that `fencepost new --list` shows.
fn templates(folder: &Folder) -> Vec<String> {
    let output = run(&folder.0, &["new", "--list"]);
    assert_eq!(code(&output), 0);
    let text = all_text(&output);
    let names = text.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    names.map(str::to_owned).collect()
}

/// What a template's head says to try: the text that goes, the one that comes, the code that is found then.
fn edits(text: &str) -> Vec<(String, String, String)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("//! Try: "));
    lines
        .map(|line| {
            let quoted: Vec<String> = line.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            match quoted.as_slice() {
                [gone, come, found] if line.starts_with("replace ") => {
                    (gone.clone(), come.clone(), found.clone())
                }
                [gone, found] if line.starts_with("take out ") => {
                    (gone.clone(), String::new(), found.clone())
                }
                _ => panic!("cannot read `{line}`"),
            }
        })
        .collect()
}

#[test]
fn every_template_is_proved_and_every_edit_that_it_names_is_found() {
    let folder = Folder::new("templates");
    let names = templates(&folder);
    assert!(names.len() >= 7, "{names:?}");
    for name in &names {
        let own = format!("my-{name}");
        let output = run(&folder.0, &["new", &own, "--template", name]);
        assert_eq!(code(&output), 0, "{}", all_text(&output));
        let path = folder.0.join(format!("{own}.fence"));
        // Where it says to go on is where it goes on.
        assert!(
            all_text(&output).contains(&format!("next: fencepost check {own}.fence\n")),
            "{}",
            all_text(&output)
        );

        let output = check(&path, &["--format", "brief"]);
        assert_eq!(code(&output), 0, "{name}: {}", all_text(&output));
        assert!(all_text(&output).contains(&own.replace('-', "_")), "{name}: {}", all_text(&output));
        let layout = run(&folder.0, &["fmt", "--check", &format!("{own}.fence")]);
        assert_eq!(code(&layout), 0, "{name} is not in the canonical layout");

        let text = std::fs::read_to_string(&path).expect("it was written");
        let (head, body) = text.split_once("\n\n").expect("a head, then the kernel");
        let edits = edits(head);
        assert!(edits.len() >= 2, "{name} says {} things to try", edits.len());
        for (gone, come, found) in edits {
            assert_eq!(body.matches(&gone).count(), 1, "{name}: `{gone}` is to be there once");
            let path = folder.write("edited.fence", body.replace(&gone, &come));
            let output = check(&path, &["--format", "brief"]);
            assert_eq!(code(&output), 1, "{name}, with `{gone}` as `{come}`: {}", all_text(&output));
            assert!(
                all_text(&output).contains(&found),
                "{name}, with `{gone}` as `{come}`: {}",
                all_text(&output)
            );
        }
    }
}

#[test]
fn new_never_overwrites_and_says_what_is_wrong_with_a_name() {
    let folder = Folder::new("new");
    folder.write("mine.fence", "what was there\n");
    let cases: &[(&[&str], &str)] = &[
        (&["mine"], "error: mine.fence is there already, and stays as it is\n"),
        (&["mine.fence"], "error: mine.fence is there already, and stays as it is\n"),
        (&["2x"], "error: `2x` cannot be the name of a kernel\n"),
        (&["a.cu"], "error: `a.cu` cannot be the name of a kernel\n"),
        (&["while"], "error: `while` cannot be the name of this kernel: "),
        (&["absent/mine"], "absent/mine.fence: the folder is not there\n"),
        (&["other", "--template", "tma-rin"], "tip: a similar value exists: 'tma-ring'"),
        (&[], "the following required arguments were not provided"),
    ];
    for (arguments, expected) in cases {
        let output = run(&folder.0, &[&["new"], *arguments].concat());
        let text = all_text(&output).replace('\\', "/");
        assert_eq!(code(&output), 2, "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
    let kept = std::fs::read_to_string(folder.0.join("mine.fence"));
    assert_eq!(kept.ok().as_deref(), Some("what was there\n"));
    assert_eq!(std::fs::read_dir(&folder.0).map(Iterator::count).ok(), Some(1), "nothing else was written");

    std::fs::create_dir(folder.0.join("deep")).expect("a new folder");
    assert_eq!(code(&run(&folder.0, &["new", "deep/er.fence", "--template", "lock"])), 0);
    let text = std::fs::read_to_string(folder.0.join("deep/er.fence")).unwrap_or_default();
    assert!(text.contains("\nkernel er {\n"), "{text}");
}

#[test]
fn the_command_alone_says_what_to_do_first() {
    let folder = Folder::new("alone");
    let output = run(&folder.0, &[]);
    assert_eq!(code(&output), 2);
    assert!(output.stdout.is_empty());
    let text = all_text(&output);
    let shown: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  fencepost ")).collect();
    assert_eq!(shown.len(), 3, "{text}");
    // They can be run, one after the other.
    for line in shown {
        let (words, _) = line.split_once("  ").expect("what it does stands behind it");
        let words: Vec<&str> = words.split(' ').collect();
        let output = run(&folder.0, &words);
        assert_eq!(code(&output), 0, "{words:?}: {}", all_text(&output));
    }
}

#[test]
fn a_file_in_place_of_a_command_is_told_which_command() {
    let folder = Folder::new("no-command");
    folder.write("mine.fence", "kernel mine { launch { warps: 2 } }\n");
    let output = run(&folder.0, &["mine.fence"]);
    assert_eq!(code(&output), 2);
    assert!(all_text(&output).contains("`fencepost check mine.fence`"), "{}", all_text(&output));
    // What is none gets what it got.
    let output = run(&folder.0, &["chek", "mine.fence"]);
    assert!(all_text(&output).contains("'check'"), "{}", all_text(&output));
    let output = run(&folder.0, &["check", "mine.fence", "--launch", "big"]);
    assert!(all_text(&output).contains("no kernel has a launch `big`; there are `"), "{}", all_text(&output));
}

#[test]
fn explain_says_what_a_name_of_cuda_is_here() {
    let folder = Folder::new("explain-cuda");
    let cases = [
        ("__syncthreads", "`__syncthreads` is CUDA, not `.fence`: write `bar.sync 0;`\n"),
        ("atomicExch(&lock, 0)", "write `let old = atom.exch.b32 [lock], 0;`\n"),
        ("cutlass::arch::fence_barrier_init", "write `fence.mbarrier_init.release.cluster;`\n"),
    ];
    for (name, wanted) in cases {
        let output = run(&folder.0, &["explain", name]);
        assert_eq!(code(&output), 0, "{name}");
        assert!(all_text(&output).contains(wanted), "{name}: {}", all_text(&output));
    }
    for (name, wanted) in
        [("MM36", "did you mean `MM-36`?"), ("x }", "there is no code"), ("nothing", "there is no code")]
    {
        let output = run(&folder.0, &["explain", name]);
        assert_eq!(code(&output), 2, "{name}");
        assert!(all_text(&output).contains(wanted), "{name}: {}", all_text(&output));
    }
}

#[test]
fn shells_and_man_know_every_command() {
    let folder = Folder::new("shells");
    let help = all_text(&run(&folder.0, &["--help"]));
    let (_, rest) = help.split_once("Commands:\n").expect("the help lists the commands");
    let commands: Vec<&str> = rest
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|&name| name != "help")
        .collect();
    assert!(commands.len() >= 9, "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&folder.0, &["completions", shell]);
        assert_eq!(code(&output), 0);
        let text = all_text(&output);
        assert!(commands.iter().all(|command| text.contains(command)), "{shell}");
        assert!(
            text.contains("tma-ring") || shell == "elvish" || shell == "powershell",
            "{shell}: values are completed"
        );
    }
    let whole = all_text(&run(&folder.0, &["man"]));
    assert!(whole.contains(".TH fencepost 1") && whole.contains("Exit codes: 0 proved"), "{whole}");
    for command in commands {
        assert!(whole.contains(&format!("fencepost\\-{command}(1)")), "{command}: {whole}");
        let page = all_text(&run(&folder.0, &["man", command]));
        assert!(page.contains(&format!(".TH fencepost-{command} 1")), "{page}");
    }
    assert_eq!(code(&run(&folder.0, &["man", "absent"])), 2);
    assert_eq!(code(&run(&folder.0, &["completions", "absent"])), 2);
}

/// `new --from`: a compiled kernel is checked at once where nothing is missing, and comments say what is.
#[test]
fn a_compiled_kernel_is_imported_with_what_can_be_inferred() {
    let folder = Folder::new("from");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ptx");
    for name in ["spin_lock", "reduce", "cluster", "exchange", "multicast"] {
        let module = format!("{name}.ptx");
        std::fs::copy(examples.join(&module), folder.0.join(&module)).expect("it is there");
    }
    assert_eq!(code(&run(&folder.0, &["new", "lock", "--from", "spin_lock.ptx"])), 0);
    let text = std::fs::read_to_string(folder.0.join("lock.fence")).expect("it was written");
    for part in ["global p0[1]: u32 = 0;", "ctas: 2, block: 64, cooperative: true", "param 1 = &p1;"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    // Without a name it has the module's.
    assert_eq!(code(&run(&folder.0, &["new", "--from", "spin_lock.ptx"])), 0);
    let own = std::fs::read_to_string(folder.0.join("spin_lock.fence")).expect("it was written");
    assert_eq!(own, text, "the same but for its name");
    let checked = run(&folder.0, &["check", "lock.fence"]);
    assert_eq!(code(&checked), 0, "{}", String::from_utf8_lossy(&checked.stdout));
    // One of several kernels, with dimensions and numbers that have to be chosen.
    let arguments = ["new", "sum", "--from", "reduce.ptx", "--entry", "block_sum"];
    assert_eq!(code(&run(&folder.0, &arguments)), 0);
    let text = std::fs::read_to_string(folder.0.join("sum.fence")).expect("it was written");
    assert!(text.contains("param 2 = 2;    // a number: choose") && !text.contains("transpose"), "{text}");
    // A cluster that the kernel asks for.
    assert_eq!(code(&run(&folder.0, &["new", "c", "--from", "cluster.ptx", "--entry", "dsmem"])), 0);
    assert_eq!(code(&run(&folder.0, &["check", "c.fence"])), 0);
    // Fields of a structure, which pass through local memory and functions that are called.
    assert_eq!(code(&run(&folder.0, &["new", "e", "--from", "exchange.ptx"])), 0);
    let text = std::fs::read_to_string(folder.0.join("e.fence")).expect("it was written");
    for part in ["global p0_16[", "param 0[0] = &p0_0;", "param 0[24] = &p0_24;", "param 1 = &p1;"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    // A cluster of two axes.
    assert_eq!(code(&run(&folder.0, &["new", "m", "--from", "multicast.ptx"])), 0);
    let text = std::fs::read_to_string(folder.0.join("m.fence")).expect("it was written");
    assert!(text.contains("launch { grid: [2, 2], cluster: [2, 2], block: 64 }"), "{text}");
    // Libraries read all axes of kernels that are launched along one.
    assert_eq!(code(&run(&folder.0, &["new", "t", "--from", "reduce.ptx", "--entry", "transpose"])), 0);
    let text = std::fs::read_to_string(folder.0.join("t.fence")).expect("it was written");
    assert!(
        text.contains("block: 64 }") && text.contains("`block: [16, 4]` if they have several axes"),
        "{text}"
    );
    // One block where all do the same, with all threads that the kernel is told it has at most.
    let module = ".version 8.0\n.target sm_90\n.visible .entry k(.param .u64 p)\n.maxntid 96, 1, 1\n{\n    \
                  .reg .b32 %r<3>; .reg .b64 %rd<4>;\n    ld.param.u64 %rd1, [p];\n    mov.u32 %r1, %tid.x;\n    \
                  mul.wide.u32 %rd2, %r1, 4;\n    add.s64 %rd3, %rd1, %rd2;\n    st.global.u32 [%rd3], %r1;\n    \
                  ret;\n}\n";
    folder.write("own.ptx", module);
    assert_eq!(code(&run(&folder.0, &["new", "own", "--from", "own.ptx"])), 0);
    let text = std::fs::read_to_string(folder.0.join("own.fence")).expect("it was written");
    assert!(text.contains("ctas: 1, block: 96") && text.contains("global p0[96]: u32;"), "{text}");
    assert_eq!(code(&run(&folder.0, &["check", "own.fence"])), 0);
    for (arguments, expected) in [
        (
            &["new", "x", "--from", "reduce.ptx", "--entry", "other"][..],
            "its kernels are block_sum, aggregate, transpose",
        ),
        (&["new", "lock", "--from", "spin_lock.ptx"], "is there already"),
        (&["new", "y", "--from", "no.ptx"], "no.ptx: "),
    ] {
        let output = run(&folder.0, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(code(&output) != 0 && said.contains(expected), "{arguments:?}: {said}");
    }
}

/// The hooks for `pre-commit`: what they run passes on a right kernel and fails on a wrong one.
#[test]
fn hooks_pass_and_fail() {
    let folder = Folder::new("hooks");
    let right = "kernel k {\n    launch { ctas: 2 }\n    global x: u32 = 0;\n    st.relaxed.gpu [x], 1;\n}\n";
    folder.write("right.fence", right);
    folder.write("wrong.fence", right.replace(".relaxed.gpu", "").replace("], 1", "], ctaid"));
    folder.write("loose.fence", right.replace("    st", "  st"));
    let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.pre-commit-hooks.yaml");
    let hooks = std::fs::read_to_string(hooks).expect("the hooks");
    let entries: Vec<&str> =
        hooks.lines().filter_map(|line| line.trim().strip_prefix("entry: fencepost ")).collect();
    let [check, format] = entries.as_slice() else { panic!("{entries:?}") };
    let run = |entry: &str, file: &str| {
        let arguments: Vec<&str> = entry.split(' ').chain([file]).collect();
        code(&run(&folder.0, &arguments))
    };
    assert_eq!([run(check, "right.fence"), run(check, "wrong.fence")], [0, 1]);
    assert_eq!(run(format, "loose.fence"), 0);
    let formatted = std::fs::read_to_string(folder.0.join("loose.fence")).expect("it is there");
    assert_eq!(formatted, right, "as `pre-commit` sees, it has changed the file");
}
