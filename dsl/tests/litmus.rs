//! The litmus front end: what it makes of a file, what it says of a wrong one, and that no bytes make it panic.

use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::dump::dump;
use fencepost_dsl::kernel::program::{ExpressionKind, Placement, Program, Quantifier};
use fencepost_dsl::litmus::load;
use fencepost_dsl::vocabulary::Proxy;

const GOOD: &str = r#"PTX good
"a title in free form, it's fine: ; | @"
{ x = 5; y = &x; z = -1; P1:r2 = 0x1f; s @ generic aliases x; }
 P0@cta 0,gpu 0              | P1@cta 7,gpu 2          ; (* places *)
 st.weak x, 1                | LC00:                   ;
 fence.proxy.alias           | ld.acquire.sys r1, s    ;
 atom.acq_rel.gpu.cas r1, x, 0, r3 | bne r1, 1, LC00   ;
 red.relaxed.gpu.sub z, 1    | bar.cta.sync a, r2, 32  ;
locations [x; 0:r1;]
filter (x = 1)
forall (P0:r1 == 5 /\ ~([z] < -2 \/ 1:r1 != 1))
"#;

fn program(text: &str) -> Result<Program, Vec<(&'static str, String)>> {
    let mut sources = SourceMap::default();
    load(&mut sources, "test.litmus", &mut |_| Ok(text.to_owned())).map_err(|errors| {
        errors.iter().map(|error| (error.code, sources.text(error.span()).to_owned())).collect()
    })
}

#[test]
fn a_file_becomes_one_kernel() {
    let program = program(GOOD).expect("it is a good file");
    let [kernel] = program.kernels.as_slice() else { panic!("one kernel") };
    assert_eq!(kernel.name, "good");
    let placement = kernel.launches[0].placement.as_ref().expect("threads are placed");
    assert_eq!(placement, &[Placement { gpu: 0, cta: 0 }, Placement { gpu: 2, cta: 7 }]);
    let mappings: Vec<(&str, u32, u32)> = kernel
        .objects
        .iter()
        .map(|object| (object.name.as_str(), object.storage.0, object.mapping))
        .collect();
    assert_eq!(mappings, [("x", 0, 0), ("y", 1, 0), ("z", 2, 0), ("s", 0, 1)]);
    let text = dump(&program);
    for part in ["Known([5, 0, 0, 0, 0, 0, 0, 0])", "Known([255, 255", "forall", "filter", "bar.cta.sync 0:"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let condition = kernel.condition.as_ref().expect("it has a condition");
    assert_eq!(condition.quantifier, Quantifier::Forall);
    assert!(matches!(condition.condition.kind, ExpressionKind::Binary(..)));
    assert_eq!(program.loops.len(), 1);
}

const PROXIES: &str = "PTX proxies
{ x = 0; y @ generic aliases x; s @ surface aliases y; t @ texture aliases x; c @ constant aliases x; }
 P0@cta 0,gpu 0 ;
 sust.release.gpu s, 1 ;
 suatom.acq_rel.gpu.exch r1, s, 2 ;
 sured.relaxed.sys.add s, 1 ;
 fence.proxy.surface ;
 fence.proxy.alias ;
 fence.proxy.generic ;
 fence.proxy.texture ;
 tld.weak r2, t ;
 fence.proxy.constant ;
 cold.weak r3, c ;
 suld.relaxed.gpu r4, s ;
exists (P0:r2 = 3)
";

#[test]
fn a_view_through_another_proxy_has_the_address_of_what_it_views() {
    let program = program(PROXIES).expect("it is a good file");
    let objects: Vec<(&str, Proxy, u32, u32)> = program.kernels[0]
        .objects
        .iter()
        .map(|object| (object.name.as_str(), object.proxy, object.storage.0, object.mapping))
        .collect();
    assert_eq!(
        objects,
        [
            ("x", Proxy::Generic, 0, 0),
            ("y", Proxy::Generic, 0, 1),
            ("s", Proxy::Surface, 0, 1),
            ("t", Proxy::Texture, 0, 0),
            ("c", Proxy::Constant, 0, 0),
        ]
    );
    let text = dump(&program);
    for part in ["mapping 1 surface", "suatom.acq_rel.gpu.exch", "fence.proxy.generic", "cold.weak"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn any_proxy_may_go_to_another_generic_name() {
    let program = program(
        "PTX t { y @ generic aliases x; z @ generic aliases x; }
         P0@cta 0,gpu 0 ; cold.weak r1, y ; st.weak y, 1 ; cold.weak r2, y ; suld.weak r3, z ; exists (y = 1)",
    )
    .expect("it is a good file");
    let objects: Vec<(&str, Proxy, u32, u32)> = program.kernels[0]
        .objects
        .iter()
        .map(|object| (object.name.as_str(), object.proxy, object.storage.0, object.mapping))
        .collect();
    // A view each, at the address of the name: as if `c @ constant aliases y` stood there.
    assert_eq!(
        objects,
        [
            ("x", Proxy::Generic, 0, 0),
            ("y", Proxy::Generic, 0, 1),
            ("z", Proxy::Generic, 0, 2),
            ("y", Proxy::Constant, 0, 1),
            ("z", Proxy::Surface, 0, 2),
        ]
    );
}

#[test]
fn each_proxy_has_its_instructions() {
    let accesses =
        [("ld.weak r1, ", "x"), ("suld.weak r1, ", "s"), ("tld.weak r1, ", "t"), ("cold.weak r1, ", "c")];
    for (instruction, own) in accesses {
        for (_, location) in accesses {
            let found = program(&format!(
                "PTX t {{ s @ surface aliases x; t @ texture aliases x; c @ constant aliases x; }}
                 P0@cta 0,gpu 0 ; {instruction}{location} ; exists (x = 0)"
            ));
            let codes: Vec<&str> = found.err().into_iter().flatten().map(|(code, _)| code).collect();
            let expected: &[&str] = if own == location { &[] } else { &["validate::proxy-mismatch"] };
            assert_eq!(codes, expected, "{instruction}{location}");
        }
    }
}

#[test]
fn and_binds_tighter_than_or() {
    let condition = |text: &str| {
        let text = format!("PTX t\n{{ x = 0; y = 0; z = 0; }}\nP0@cta 0,gpu 0 ;\nexists {text}");
        dump(&program(&text).expect("it is a good file"))
    };
    assert_eq!(condition("x=1 \\/ y=2 /\\ z=3"), condition("(x=1 \\/ (y=2 /\\ z=3))"));
    assert_ne!(condition("x=1 \\/ y=2 /\\ z=3"), condition("((x=1 \\/ y=2) /\\ z=3)"));
}

/// A thread with one line, and the codes and places of the errors.
fn errors(line: &str) -> Vec<(&'static str, String)> {
    program(&format!("PTX t\n{{ x = 0; }}\nP0@cta 0,gpu 0 ;\n{line} ;\nexists (x = 0)"))
        .expect_err("it is a bad file")
}

#[test]
fn errors_have_a_code_and_a_place() {
    for (line, code, place) in [
        ("suld.weak r1, x", "validate::proxy-mismatch", "x"),
        ("cold.weak r1, y", "validate::proxy-mismatch", "y"),
        ("fence.proxy.async", "resolve::unknown-instruction", "fence.proxy.async"),
        ("tst.weak x, 1", "resolve::unknown-instruction", "tst.weak"),
        ("tld.weak x, 1", "resolve::litmus-operands", "x"),
        ("div r1, 4, 2", "unsupported::instruction", "div"),
        ("atom.relaxed.gpu.mul r1, x, 2", "unsupported::instruction", "atom.relaxed.gpu.mul"),
        ("st.weak x, x", "unsupported::litmus-address", "x"),
        ("ld.weak r1, r2", "unsupported::litmus-address", "r2"),
        ("ld.weak x, r1", "resolve::litmus-operands", "x"),
        ("st.weak 3, 1", "resolve::litmus-operands", "3"),
        ("add r1, 2", "resolve::litmus-operands", "add"),
        ("ld.relaxed r1, x", "resolve::unknown-instruction", "ld.relaxed"),
        ("ld.release.gpu r1, x", "resolve::unknown-instruction", "ld.release.gpu"),
        ("fence.sc.block", "resolve::unknown-instruction", "fence.sc.block"),
        ("goto LC00", "resolve::unknown-label", "LC00"),
        ("LC00: ;\nLC00:", "resolve::duplicate-label", "LC00"),
        ("st.weak x, 99999999999999999999", "syntax::litmus-number", "99999999999999999999"),
        ("st.weak x, 1 |", "syntax::litmus-columns", "st.weak x, 1 |"),
        ("st.weak x 1", "syntax::litmus", "1"),
        ("st.weak x, $", "syntax::litmus", "$"),
    ] {
        assert_eq!(errors(line), [(code, place.to_owned())], "{line}");
    }
}

#[test]
fn several_errors_are_reported_at_once() {
    let codes: Vec<&str> =
        errors("goto LC09 ;\n tld.weak r1, x ;\n add x, 1, 1").into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["resolve::unknown-label", "validate::proxy-mismatch", "resolve::litmus-operands"]);
}

#[test]
fn the_frame_of_a_file_is_checked() {
    let code = |text: &str| program(text).expect_err("it is a bad file")[0].0;
    assert_eq!(code(""), "syntax::litmus-header");
    assert_eq!(code("C test { }"), "syntax::litmus-header");
    assert_eq!(code("PTX test"), "syntax::litmus-header");
    assert_eq!(code("PTX t { x = 0 "), "syntax::litmus");
    assert_eq!(code("PTX t { } P1@cta 0,gpu 0 ; exists (x=0)"), "syntax::litmus-thread");
    assert_eq!(code("PTX t { } P0@cta 0,gpu 0 ; exists (x=0) 1"), "syntax::litmus");
    assert_eq!(code("PTX t { } P0@cta 0,gpu 0 ; exists (P1:r1=0)"), "resolve::litmus-name");
    assert_eq!(code("PTX t { x=0; x=1; } P0@cta 0,gpu 0 ; exists (x=0)"), "resolve::duplicate-name");
    assert_eq!(code("PTX t { y @ async aliases x; } P0@cta 0,gpu 0 ; exists (x=0)"), "resolve::litmus-name");
    let deep = format!("PTX t {{ }} P0@cta 0,gpu 0 ; exists {}x=0", "(".repeat(100_000));
    assert_eq!(code(&deep), "limit::nesting");
    let wide = "x=0 /\\ ".repeat(20_000);
    assert!(program(&format!("PTX t {{ x = 0; }} P0@cta 0,gpu 0 ; exists {wide} x=0")).is_ok());
    // What is neither declared nor used is a slip of the pen.
    assert_eq!(code("PTX t { } P0@cta 0,gpu 0 ; exists (x=0)"), "resolve::litmus-name");
}

#[test]
fn every_flow_graph_of_a_few_blocks_is_structured() {
    // All ways to jump from each of four blocks.
    for graph in 0..625u32 {
        let mut text = "PTX t\n{ }\nP0@cta 0,gpu 0 ;\n".to_owned();
        for block in 0..4u32 {
            let target = graph / 5u32.pow(block) % 5;
            text += &format!("LC{block}: ;\n ld.relaxed.gpu r{block}, x ;\n bne r{block}, 0, LC{target} ;\n");
        }
        text += "LC4: ;\nexists (x = 0)";
        assert!(program(&text).is_ok(), "{text}");
    }
}

#[test]
fn no_bytes_make_it_panic() {
    for end in 0..GOOD.len() {
        let _ = program(&GOOD[..end]);
    }
    // Every byte replaced, by characters that mean something and by one that does not.
    for at in 0..GOOD.len() {
        for replacement in ["", ";", "|", "{", "}", "(", "9", "-", "P", "r1", ":", "@", "(*", "é", "\0"] {
            let text = format!("{}{replacement}{}", &GOOD[..at], &GOOD[at + 1..]);
            let _ = program(&text);
        }
    }
    // A fixed sequence of noise made of the format's own words.
    let words = [
        "PTX",
        "{",
        "}",
        ";",
        "|",
        "P0",
        "@",
        "cta",
        "gpu",
        ",",
        "0",
        "1",
        "r1",
        "x",
        "=",
        ":",
        "LC00",
        "goto",
        "bne",
        "ld.weak",
        "st.weak",
        "exists",
        "forall",
        "(",
        ")",
        "/\\",
        "\\/",
        "~",
        "[",
        "]",
        "\n",
        "bar.cta.sync",
        "fence.sc.gpu",
        "atom.relaxed.gpu.add",
        "aliases",
        "generic",
        "filter",
        "&",
        "<",
    ];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..3_000 {
        let mut text = "PTX t { } P0@cta 0,gpu 0 ; ".to_owned();
        for _ in 0..30 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let n_words = words.len() as u64;
            text += words[usize::try_from(state % n_words).expect("below the number of words")];
            text.push(' ');
        }
        let _ = program(&text);
    }
}
