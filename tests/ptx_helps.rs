//! Helps for compiled kernels: what a reader sees of them, that who follows one gets a proved kernel, and that the edits name
//! the PTX.

use fencepost::{Options, Report, Source, Style, Verdict, check};
use fencepost_tests::compiled::{Change, changed, text};

/// A kernel of the examples, with its module and the source of that.
struct Compiled {
    name: &'static str,
    module: (&'static str, String),
    source: &'static str,
}

impl Compiled {
    /// With its module changed from `line` on (one-based): the first `from` becomes `to`.
    fn new(name: &'static str, (module, source): (&'static str, &'static str), change: Change<'_>) -> Self {
        Self { name, module: (module, changed(&text(module), change)), source }
    }

    fn report(&self) -> Report {
        let (module, changed) = &self.module;
        let name = format!("{}.fence", self.name);
        let source = Source::text(name.clone(), text(&name))
            .with(*module, changed.clone())
            .with(self.source, text(self.source));
        check(source, &Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// With the edits of the first finding that has some, all of which are of the module.
    fn followed(&self) -> Self {
        let report = self.report();
        let finding = report.findings().find(|finding| !finding.edits.is_empty()).expect("it has a help");
        let mut edits: Vec<_> = finding.edits.iter().collect();
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.region.bytes.start));
        let mut changed = self.module.1.clone();
        for edit in edits {
            assert_eq!(edit.region.file, self.module.0, "a change of the PTX");
            changed.replace_range(edit.region.bytes.clone(), &edit.text);
        }
        Self { name: self.name, module: (self.module.0, changed), source: self.source }
    }
}

#[test]
fn a_report_says_what_to_change_in_the_source() {
    let shown = |name, files, change| {
        let report = Compiled::new(name, files, change).report();
        insta::assert_snapshot!(name, report.to_text(Style::PLAIN));
    };
    let spin_lock = ("spin_lock.ptx", "spin_lock.cu");
    shown("spin_lock", spin_lock, (1, "st.release.gpu", "st.relaxed.cta"));
    shown("cp_async", ("cp_async.ptx", "cp_async.cu"), (105, "bar.sync \t0;", ""));
    shown("histogram", ("histogram.ptx", "histogram.cu"), (74, "bar.sync \t0;", ""));
    let row_sum = ("triton_row_sum.ptx", "triton_kernels.py");
    shown("row_sum", row_sum, (126, "bar.sync \t0;", ""));
}

/// The examples that are rightly violated.
#[test]
fn who_follows_a_help_gets_a_proof() {
    let whole = (1, "", "");
    for (name, files) in [
        ("last_block", ("last_block.ptx", "last_block.cu")),
        ("fifo", ("nccl_like.ptx", "nccl_like.cu")),
        ("tma_ring", ("tma_ring.ptx", "tma_ring.cu")),
    ] {
        let kernel = Compiled::new(name, files, whole);
        assert_eq!(kernel.report().verdict(), Verdict::Violated, "{name}");
        let followed = kernel.followed();
        let report = followed.report();
        assert_eq!(report.verdict(), Verdict::Proved, "{name}: {}", report.to_brief());
    }
}

/// A store that is data is not made a signal, and nobody's wait is left out.
#[test]
fn what_only_hides_is_not_offered() {
    let body = |code: &str| {
        format!(
            ".version 9.0\n.target sm_90\n.visible .entry k(.param .u64 p) {{\n.reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<3>;\n\
             ld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\n{code}\nret;\n}}\n"
        )
    };
    let helps = |code: &str| {
        let harness = "global data[2]: u32 = 0;\nimport \"k.ptx\" entry k as k { launch { ctas: 2, block: 1 } param 0 = &data; }\n";
        let source = Source::text("k.fence", harness).with("k.ptx", body(code));
        let report = check(source, &Options::default()).expect("it is well-formed");
        assert_eq!(report.verdict(), Verdict::Violated, "{code}");
        report.findings().filter_map(|finding| finding.help.clone()).collect::<Vec<_>>()
    };
    // Each block adds one, and none has a lock.
    let added = "ld.global.u32 %r2, [%rd1];\nadd.s32 %r2, %r2, 1;\nst.global.u32 [%rd1], %r2;";
    let found = helps(added);
    assert!(found.iter().all(|help| !help.contains("checked")), "{found:?}");
    // A flag is a signal; the data are in order once it is one.
    let told = "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra R;\nst.global.u32 [%rd1+4], 42;\nst.relaxed.gpu.global.u32 [%rd1], 1;\nret;\n\
                R: ld.relaxed.gpu.global.u32 %r2, [%rd1];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra E;\nld.global.u32 %r3, [%rd1+4];\n\
                add.s32 %r4, %r3, 1;\nE:";
    let found = helps(told);
    let both = |help: &String| {
        help.contains("st.release.gpu.global.u32") && help.contains("ld.acquire.gpu.global.u32")
    };
    assert!(found.iter().any(both), "release here, acquire there: {found:?}");
}
