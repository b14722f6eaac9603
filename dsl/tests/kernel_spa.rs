//! Kernels for SPA 5.0 machines: what is accepted, what means what, and what is refused with which advice.

use fencepost_dsl::kernel::program::{AccessOp, Channel, InstructionKind, Program, SpaOp, StatementKind};
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::vocabulary::{Invalidation, MembarLevel, Sem};
use fencepost_dsl::{Diagnostic, SourceMap};

fn read(text: &str) -> Result<Program, Vec<Diagnostic>> {
    load(&mut SourceMap::default(), "k.fence", &mut |_| Ok(text.to_owned()), &LoadOptions::default())
}

fn spa(launch: &str, body: &str) -> String {
    format!(
        "//! target spa_50\nkernel k {{\n    launch {{ {launch} }}\n    global x: u32 = 0;\n    global wide: u64 = 0;\n    \
         texture t: u32 alias x;\n    {body}\n}}\n"
    )
}

fn ptx(body: &str) -> String {
    format!("kernel k {{\n    global x: u32 = 0;\n    {body}\n}}\n")
}

/// The instructions of a kernel without branches, as they would be printed.
fn instructions(body: &str) -> Vec<(String, InstructionKind)> {
    let program = read(&spa("ctas: 2", body)).unwrap_or_else(|errors| panic!("{body}: {errors:#?}"));
    let statements = program.kernels[0].body.iter();
    statements
        .filter_map(|statement| match &statement.kind {
            StatementKind::Instruction(instruction) => {
                Some((instruction.text.clone(), instruction.kind.clone()))
            }
            _ => None,
        })
        .collect()
}

/// The code and help of the first error.
fn refused(text: &str) -> (&'static str, String) {
    match read(text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(errors) => (errors[0].code, errors[0].help.clone().unwrap_or_default()),
    }
}

#[test]
fn instructions_are_printed_as_the_document_spells_them() {
    let cases = [
        ("let v = LD [x];", "LD"),
        ("let v = LD.CV [x];", "LD.CV"),
        ("let v = LD.CV.64 [wide];", "LD.CV.64"),
        ("let v = LD.64.CV [wide];", "LD.CV.64"),
        ("let v = TLD [t];", "TLD"),
        ("ST [x], 1;", "ST"),
        ("ST.64 [wide], 1;", "ST.64"),
        ("let v = ATOM.ADD [x], 1;", "ATOM.ADD"),
        ("let v = ATOM.CAS [x], 0, 1;", "ATOM.CAS"),
        ("let v = ATOM.MIN.S32 [x], 1;", "ATOM.MIN.S32"),
        ("RED.MAX [x], 1;", "RED.MAX"),
        ("MEMBAR.VC;", "MEMBAR.VC"),
        ("MEMBAR.IVALLT.SYS;", "MEMBAR.SYS.IVALLT"),
        ("CCTL.IV [x];", "CCTL.IV"),
        ("CCTL.D.IVALL;", "CCTL.D.IVALL"),
        ("CCTLT.IVALL;", "CCTLT.IVALL"),
        ("BAR.SYNC 0;", "BAR.SYNC"),
    ];
    for (body, expected) in cases {
        let texts: Vec<String> = instructions(body).into_iter().map(|(text, _)| text).collect();
        assert_eq!(texts, [expected], "{body}");
    }
}

#[test]
fn every_level_and_invalidation_is_read() {
    for level in MembarLevel::ALL {
        for (suffix, data, texture) in
            [("", false, false), (".IVALLD", true, false), (".IVALLT", false, true), (".IVALLTD", true, true)]
        {
            let found = instructions(&format!("MEMBAR.{level}{suffix};"));
            let InstructionKind::Spa(SpaOp::Membar { level: own, invalidation }) = found[0].1 else {
                panic!("{found:?}")
            };
            assert_eq!((own, invalidation), (level, Invalidation { data, texture }));
        }
    }
}

#[test]
fn only_a_load_past_the_l1_is_strong() {
    for (body, expected) in [("let v = LD [x];", Sem::Weak), ("let v = LD.CV [x];", Sem::Volatile)] {
        let found = instructions(body);
        assert!(
            matches!(found[0].1, InstructionKind::Access(AccessOp::Load { sem, .. }) if sem == expected),
            "{body}"
        );
    }
}

#[test]
fn instructions_of_the_other_machine_name_their_counterpart() {
    let cases = [
        (spa("", "fence.acq_rel.gpu;"), "`MEMBAR.GL`"),
        (spa("", "fence.acq_rel.cta;"), "`MEMBAR.CTA`"),
        (spa("", "membar.sys;"), "`MEMBAR.SYS`"),
        (spa("", "let v = ld.acquire.gpu [x];"), "`LD.CV`"),
        (spa("", "st.release.gpu [x], 1;"), "`ST`"),
        (spa("", "bar.sync 0;"), "`BAR.SYNC`"),
        (ptx("MEMBAR.GL;"), "`fence.acq_rel.gpu`"),
        (ptx("MEMBAR.CTA;"), "`fence.acq_rel.cta`"),
        (ptx("MEMBAR.SYS.IVALLD;"), "`fence.acq_rel.sys`"),
        (ptx("let v = LD.CV [x];"), "`ld.volatile`"),
        (ptx("let v = LD [x];"), "`ld`"),
        (ptx("CCTL.IV [x];"), "nothing like it"),
    ];
    for (text, counterpart) in cases {
        let (code, help) = refused(&text);
        assert_eq!(code, "validate::spa-instruction", "{text}");
        assert!(help.contains(counterpart), "{text}: {help}");
    }
}

#[test]
fn what_cannot_be_said_is_refused() {
    let cases = [
        (spa("", "MEMBAR;"), "validate::membar-level"),
        (spa("", "MEMBAR.IVALLD;"), "validate::membar-level"),
        (spa("", "MEMBAR.GPU;"), "validate::unknown-modifier"),
        (spa("", "MEMBAR.CTA.GL;"), "validate::duplicate-modifier"),
        (spa("", "let v = LD.CG [x];"), "validate::unknown-modifier"),
        (spa("", "let v = LD [wide];"), "validate::type-mismatch"),
        (spa("", "let v = LD.128 [wide];"), "unsupported::modifier"),
        (spa("", "let v = LD [t];"), "validate::proxy-mismatch"),
        (spa("", "let v = TLD [x];"), "validate::proxy-mismatch"),
        (spa("", "RED.EXCH [x], 1;"), "validate::illegal-operation"),
        (spa("", "let v = ATOM [x], 1;"), "validate::missing-operation"),
        (spa("", "CCTL.IVALL;"), "validate::cache-control"),
        (spa("", "CCTL.IV [t];"), "validate::cache-control"),
        (spa("", "BAR.ARV 0, 32;"), "unsupported::instruction"),
        (spa("", "FMUL.X [x];"), "validate::spa-instruction"),
        (spa("ctas: 2, cluster: 2", ""), "validate::launch-dimension"),
        (spa("sms: 0", ""), "validate::launch-dimension"),
        (spa("host: 3", ""), "validate::spa-launch"),
        (spa("copy_engine: near", ""), "validate::spa-launch"),
        (spa("", "client host { ST [x], 1; }"), "validate::spa-client"),
        (spa("host: true", "client printer { ST [x], 1; }"), "validate::spa-client"),
        (spa("host: true", "client host { BAR.SYNC 0; }"), "validate::spa-client"),
        (spa("host: true", "if tid == 0 { client host { ST [x], 1; } }"), "resolve::misplaced-statement"),
        (spa("", "shared s: u32 = 0;"), "validate::spa-object"),
        (spa("", "surface s: u32 alias x;"), "validate::spa-object"),
        (ptx("launch { sms: 2 }"), "validate::spa-launch"),
        (ptx("launch { host: true }"), "validate::spa-launch"),
        (ptx("client host { let v = ld [x]; }"), "validate::spa-client"),
        ("//! target spa_50 ptx 8.0\nkernel k {}\n".to_owned(), "syntax::target"),
    ];
    for (text, expected) in cases {
        assert_eq!(refused(&text).0, expected, "{text}");
    }
}

#[test]
fn a_width_that_does_not_fit_is_advised() {
    assert!(refused(&spa("", "let v = LD.CV [wide];")).1.contains("`LD.CV.64`"));
    assert!(refused(&spa("", "ST.64 [x], 1;")).1.contains("`ST`"));
}

#[test]
fn launches_say_where_threads_run() {
    let launch = |text: &str| read(&spa(text, "")).expect("a launch").kernels[0].launches[0].clone();
    let apart = launch("ctas: 3").spa.expect("an SPA launch");
    assert_eq!((apart.sms, apart.copy_engine, apart.host), (3, None, false));
    let all = launch("ctas: 3, sms: 2, host: true, copy_engine: same_channel").spa.expect("an SPA launch");
    assert_eq!((all.sms, all.copy_engine, all.host), (2, Some(Channel::Same), true));
    assert_eq!(launch("copy_engine: true").spa.and_then(|spa| spa.copy_engine), Some(Channel::Other));
}

#[test]
fn client_is_still_a_name() {
    let text = ptx("let client = ld [x]; st [x], client + 1;");
    assert!(read(&text).is_ok());
}

#[test]
fn the_command_line_can_choose_the_machine() {
    let text = "kernel k { global x: u32 = 0; ST [x], 1; }";
    let options = LoadOptions { target: Some("spa_50".to_owned()), ..LoadOptions::default() };
    let program = load(&mut SourceMap::default(), "k.fence", &mut |_| Ok(text.to_owned()), &options);
    assert!(program.expect("a program").kernels[0].launches[0].spa.is_some());
}
