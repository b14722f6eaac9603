//! The document that describes `MEMBAR`, sentence by sentence: a kernel for each that promises or denies something.
//!
//! Sentences are quoted in brief, under the rule id that the project's specification gives them. A promise is shown by a
//! kernel that is proved, what is denied by an execution that is there. Words about costs are shown by what is advised.

use fencepost::check::check;
use fencepost::encode::Treatment;
use fencepost::explain::{Reason, SpaReason, explain};
use fencepost::verdict::{Outcome, Vacuity, Verdict};
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::vocabulary::MembarLevel;
use fencepost_tests::run::{codes_of, config, load_text, spa_model};
use std::collections::BTreeSet;

/// What a sentence comes to.
enum Claim {
    /// The kernel is proved.
    Holds,
    /// Every `reachable` of the kernel is reached.
    Happens,
    /// The kernel has this finding.
    Found(&'static str),
}

/// A sentence and the kernel that shows it.
struct Sentence {
    rule: &'static str,
    quote: &'static str,
    variants: &'static [&'static str],
    kernel: String,
    claim: Claim,
}

fn says(rule: &'static str, quote: &'static str, kernel: String, claim: Claim) -> Sentence {
    Sentence { rule, quote, variants: &[], kernel, claim }
}

fn kernel(launch: &str, memory: &str, body: &str) -> String {
    let objects: String =
        memory.split_whitespace().map(|name| format!("    global {name}: u32 = 0;\n")).collect();
    format!("//! target spa_50\nkernel k {{\n    launch {{ {launch} }}\n{objects}{body}\n}}\n")
}

/// A handshake between two CTAs, or a CTA and a client.
fn handshake(launch: &str, producer: &str, consumer: &str) -> String {
    let body = match launch.split(':').next() {
        Some(client @ ("host" | "copy_engine")) => format!("{producer}\nclient {client} {{ {consumer} }}"),
        _ if launch.starts_with("gpus") => format!("if gpuid == 0 {{ {producer} }} else {{ {consumer} }}"),
        _ if launch.starts_with("warps") => format!("if tid == 0 {{ {producer} }} else {{ {consumer} }}"),
        _ => format!("if ctaid == 0 {{ {producer} }} else {{ {consumer} }}"),
    };
    kernel(launch, "data flag", &body)
}

/// The same with one level of `MEMBAR` on both sides, and a load past the L1.
fn at_level(launch: &str, level: &str) -> String {
    handshake(
        launch,
        &format!("ST [data], 7; MEMBAR.{level}; ST [flag], 1;"),
        &format!("await LD.CV [flag] == 1; MEMBAR.{level}; let v = LD.CV [data]; assert v == 7;"),
    )
}

/// The consumer's side of a handshake between CTAs at level `.VC`.
fn consumer(consumer: &str) -> String {
    handshake("ctas: 2", "ST [data], 7; MEMBAR.VC; ST [flag], 1;", consumer)
}

const LOW: &str = "race::membar-level-too-small";
const STALE: &str = "race::stale-l1-read";
const MISSING: &str = "race::missing-membar";

fn about_levels() -> Vec<Sentence> {
    vec![
        says(
            "SPA-1",
            "MEMBAR establishes memory transaction visibility ordering with respect to the pool of .lvl",
            at_level("ctas: 2", "VC"),
            Claim::Holds,
        ),
        says("SPA-2", ".CTA: pool of threads of the same CTA", at_level("warps: 2", "CTA"), Claim::Holds),
        says(
            "SPA-2",
            ".CTA: ordering is only guaranteed within the same CTA",
            at_level("ctas: 2", "CTA"),
            Claim::Found(LOW),
        ),
        says("SPA-2", ".VC: all threads on all SMs", at_level("ctas: 2", "VC"), Claim::Holds),
        says(
            "SPA-2",
            ".VC: and other clients on the same blocking virtual channel",
            at_level("copy_engine: same_channel", "VC"),
            Claim::Holds,
        ),
        says(
            "SPA-2",
            ".VC: but not clients on different channels",
            at_level("copy_engine: true", "VC"),
            Claim::Found(LOW),
        ),
        says("SPA-2", ".GL: all other clients in the GPU", at_level("copy_engine: true", "GL"), Claim::Holds),
        says("SPA-2", ".GL: only within the GPU", at_level("host: true", "GL"), Claim::Found(LOW)),
        says("SPA-2", ".SYS: all clients, the host included", at_level("host: true", "SYS"), Claim::Holds),
        says("SPA-2", ".SYS: and peers over PCI-E", at_level("gpus: 2", "SYS"), Claim::Holds),
        says(
            "SPA-2",
            ".SYS is required with respect to a host CPU or other PCI-E peers",
            at_level("gpus: 2", "GL"),
            Claim::Found(LOW),
        ),
        says(
            "SPA-2",
            "the level implicitly enforces all lower ones: .SYS in a CTA",
            at_level("warps: 2", "SYS"),
            Claim::Holds,
        ),
        says("SPA-2", "… .SYS between CTAs", at_level("ctas: 2", "SYS"), Claim::Holds),
        says("SPA-2", "… .GL between CTAs", at_level("ctas: 2", "GL"), Claim::Holds),
        says("SPA-2", "… .VC in a CTA", at_level("warps: 2", "VC"), Claim::Holds),
        says("SPA-2", "… .SYS with a copy engine", at_level("copy_engine: true", "SYS"), Claim::Holds),
        says(
            "SPA-6",
            "producer consumer handshake: any consumer in the global pool sees data before flag",
            at_level("copy_engine: true", "GL"),
            Claim::Holds,
        ),
    ]
}

/// Two threads with a `MEMBAR.GL` between two accesses each, and what they must not both see.
fn both_sides(first: [&str; 2], second: [&str; 2], condition: &str) -> String {
    let [a, b] = first;
    let [c, d] = second;
    let body = format!(
        "if ctaid == 0 {{ {a} MEMBAR.GL; {b} }} else {{ {c} MEMBAR.GL; {d} }}\nfinal {{ {condition}; }}"
    );
    kernel("ctas: 2", "x y r s", &body)
}

fn about_order() -> Vec<Sentence> {
    let (load_x, load_y) = ("let v = LD.CV [x]; ST [r], v;", "let w = LD.CV [y]; ST [s], w;");
    let message = |first: [&str; 2]| {
        let reader = ["let w = LD.CV [y]; ST [s], w;", "let v = LD.CV [x]; ST [r], v;"];
        both_sides(first, reader, "assert !([s] == 1 && [r] == 0)")
    };
    let buffering = |condition| both_sides(["ST [x], 1;", load_y], ["ST [y], 1;", load_x], condition);
    vec![
        says("SPA-1", "prior writes against subsequent writes", message(["ST [x], 1;", "ST [y], 1;"]), Claim::Holds),
        says(
            "SPA-1",
            "… and atomics on either side",
            message(["RED.ADD [x], 1;", "let o = ATOM.EXCH [y], 1; ST [r], o;"])
                .replace("ST [r], o;", "assert o == 0;"),
            Claim::Holds,
        ),
        says(
            "SPA-1",
            "prior reads against subsequent writes",
            both_sides([load_x, "ST [y], 1;"], [load_y, "ST [x], 1;"], "assert !([r] == 1 && [s] == 1)"),
            Claim::Holds,
        ),
        // The document promises it without exception; A-35 says what is known of the machines.
        says(
            "SPA-1",
            "prior writes against subsequent reads, as the machines were known to do it (A-35)",
            buffering("reachable [r] == 0 && [s] == 0"),
            Claim::Happens,
        ),
        Sentence {
            rule: "SPA-1",
            quote: "prior writes against subsequent reads, by the letter",
            variants: &["membar-orders-store-load"],
            kernel: buffering("assert !([r] == 0 && [s] == 0)"),
            claim: Claim::Holds,
        },
        says(
            "SPA-1",
            "no ordering within the prior group",
            kernel(
                "ctas: 2",
                "x y r s",
                &format!(
                    "if ctaid == 0 {{ ST [x], 1; ST [y], 1; MEMBAR.SYS; }} else {{ {load_y} MEMBAR.SYS; {load_x} }}
                    final {{ reachable [s] == 1 && [r] == 0; }}"
                ),
            ),
            Claim::Happens,
        ),
        says(
            "SPA-1",
            "no ordering within the subsequent group",
            kernel(
                "ctas: 2",
                "x y r s",
                &format!(
                    "if ctaid == 0 {{ MEMBAR.SYS; ST [x], 1; ST [y], 1; }} else {{ {load_y} MEMBAR.SYS; {load_x} }}
                    final {{ reachable [s] == 1 && [r] == 0; }}"
                ),
            ),
            Claim::Happens,
        ),
        says(
            "SPA-1",
            "… both of which a handshake may trip over",
            handshake(
                "ctas: 2",
                "MEMBAR.SYS; ST [data], 7; ST [flag], 1;",
                "await LD.CV [flag] == 1; MEMBAR.SYS; let v = LD.CV [data];",
            ),
            Claim::Found(MISSING),
        ),
        says(
            "SPA-3",
            "vertical only: no execution synchronization with other threads",
            handshake("ctas: 2", "ST [data], 7; MEMBAR.SYS;", "MEMBAR.SYS; let v = LD.CV [data]; reachable v == 0;"),
            Claim::Happens,
        ),
        says(
            "SPA-3",
            "for horizontal synchronization BAR should be used instead of MEMBAR",
            kernel(
                "warps: 2",
                "data",
                "if tid == 0 { ST [data], 7; }\nBAR.SYNC 0;\nlet v = LD [data];\nassert v == 7;",
            ),
            Claim::Holds,
        ),
        says(
            "SPA-3",
            "… or in addition to MEMBAR",
            kernel(
                "warps: 2, ctas: 2",
                "data flag",
                "if ctaid == 0 { ST [data], 7 + tid * 0; MEMBAR.VC; BAR.SYNC 0; if tid == 0 { ST [flag], 1; } }
                else { if tid == 0 { await LD.CV [flag] == 1; MEMBAR.VC; } BAR.SYNC 0; let v = LD.CV [data]; assert v == 7; }",
            ),
            Claim::Holds,
        ),
    ]
}

fn about_caches() -> Vec<Sentence> {
    let stale_after = |level: &str| {
        handshake(
            "ctas: 2",
            &format!("ST [data], 7; MEMBAR.{level}; ST [flag], 1;"),
            &format!("await LD.CV [flag] == 1; MEMBAR.{level}; let v = LD [data];"),
        )
    };
    let texture = |invalidation: &str, load: &str| {
        let text =
            consumer(&format!("await LD.CV [flag] == 1; MEMBAR.VC{invalidation}; {load} assert v == 7;"));
        text.replace("    global flag", "    texture sampled: u32 alias data;\n    global flag")
    };
    let data = "let v = LD [data];";
    let sampled = "let v = TLD [sampled];";
    vec![
        says("SPA-4", "stale data may still be read after MEMBAR.VC", stale_after("VC"), Claim::Found(STALE)),
        says("SPA-4", "… after MEMBAR.GL", stale_after("GL"), Claim::Found(STALE)),
        says("SPA-4", "… after MEMBAR.SYS", stale_after("SYS"), Claim::Found(STALE)),
        says(
            "SPA-4",
            "from other L1 caches: that of the writer's SM is no other",
            consumer("await LD [flag] == 1; MEMBAR.VC; let v = LD [data]; assert v == 7;")
                .replace("ctas: 2", "ctas: 2, sms: 1"),
            Claim::Holds,
        ),
        says(
            "SPA-4",
            "stale data will not be read if a CCTL.IV is issued prior to the read",
            consumer("await LD.CV [flag] == 1; MEMBAR.VC; CCTL.IV [data]; let v = LD [data]; assert v == 7;"),
            Claim::Holds,
        ),
        says(
            "SPA-4",
            "… of that line, not of another",
            consumer("await LD.CV [flag] == 1; MEMBAR.VC; CCTL.IV [flag]; let v = LD [data];"),
            Claim::Found(STALE),
        ),
        says(
            "SPA-4",
            "or if the read is performed using LD.CV",
            consumer("await LD.CV [flag] == 1; MEMBAR.VC; let v = LD.CV [data]; assert v == 7;"),
            Claim::Holds,
        ),
        says("SPA-5", ".IVALLD performs a CCTL.D.IVALL", texture(".IVALLD", data), Claim::Holds),
        says("SPA-5", ".IVALLT performs a CCTLT.IVALL", texture(".IVALLT", sampled), Claim::Holds),
        says("SPA-5", ".IVALLTD performs both: data", texture(".IVALLTD", data), Claim::Holds),
        says("SPA-5", ".IVALLTD performs both: textures", texture(".IVALLTD", sampled), Claim::Holds),
        says("SPA-5", ".IVALLD leaves the texture L1", texture(".IVALLD", sampled), Claim::Found(STALE)),
        says("SPA-5", ".IVALLT leaves the data L1", texture(".IVALLT", data), Claim::Found(STALE)),
        says(
            "SPA-5",
            "the invalidation is ordered after the transactions that precede MEMBAR, a separate one is not",
            consumer("await LD.CV [flag] == 1; CCTL.D.IVALL; MEMBAR.VC; let v = LD [data];"),
            Claim::Found(STALE),
        ),
        says(
            "SPA-5",
            "the fused operation may also stand apart, after the MEMBAR",
            consumer("await LD.CV [flag] == 1; MEMBAR.VC; CCTL.D.IVALL; let v = LD [data]; assert v == 7;"),
            Claim::Holds,
        ),
        says(
            "SPA-5",
            "it is the thread's own caches that are invalidated",
            handshake(
                "ctas: 2",
                "ST [data], 7; MEMBAR.SYS.IVALLTD; ST [flag], 1;",
                "await LD.CV [flag] == 1; MEMBAR.SYS; let v = LD [data];",
            ),
            Claim::Found(STALE),
        ),
    ]
}

fn outcome(text: &str, variants: &[&str]) -> Outcome {
    let program = load_text(text);
    let kernel = &program.kernels[0];
    check(&program, kernel, &kernel.launches[0], &spa_model(variants), &config(Treatment::DEFAULT))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn complaint(sentence: &Sentence) -> Option<String> {
    let outcome = outcome(&sentence.kernel, sentence.variants);
    let model = spa_model(sentence.variants);
    let found = codes_of(&outcome, &model);
    let is_so = match sentence.claim {
        Claim::Holds => outcome.verdict == Verdict::Proved,
        Claim::Happens => !outcome.vacuity.iter().any(|vacuity| matches!(vacuity, Vacuity::Unreachable(_))),
        Claim::Found(code) => found.contains(code),
    };
    let verdict = outcome.verdict.name();
    let (rule, quote, kernel) = (sentence.rule, sentence.quote, &sentence.kernel);
    (!is_so).then(|| format!("{rule}, {quote}: {verdict} with {found:?}\n{kernel}"))
}

#[test]
fn every_sentence_is_shown() {
    let sentences: Vec<Sentence> =
        about_levels().into_iter().chain(about_order()).chain(about_caches()).collect();
    let complaints: Vec<String> = sentences.iter().filter_map(complaint).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    let rules: BTreeSet<&str> = sentences.iter().map(|sentence| sentence.rule).collect();
    assert_eq!(rules.into_iter().collect::<Vec<_>>(), ["SPA-1", "SPA-2", "SPA-3", "SPA-4", "SPA-5", "SPA-6"]);
    assert!(sentences.iter().all(|sentence| !sentence.quote.is_empty()));
}

/// "For communication within a CTA, MEMBAR.CTA is the appropriate type", and so on up; each is dearer than the one before.
#[test]
fn the_cheapest_level_that_does_is_advised() {
    let cases = [
        ("ctas: 2", "CTA", MembarLevel::Channel),
        ("copy_engine: same_channel", "CTA", MembarLevel::Channel),
        ("copy_engine: true", "VC", MembarLevel::Global),
        ("host: true", "GL", MembarLevel::System),
        ("gpus: 2", "VC", MembarLevel::System),
    ];
    for (launch, level, expected) in cases {
        let outcome = outcome(&at_level(launch, level), &[]);
        let model = spa_model(&[]);
        let advised: BTreeSet<MembarLevel> = outcome
            .findings
            .iter()
            .flat_map(|finding| explain(&outcome.graph, &model, finding).reasons)
            .filter_map(|reason| match reason {
                Reason::Spa(SpaReason::LevelTooLow { needed, .. } | SpaReason::NoMembar { needed, .. }) => {
                    Some(needed)
                }
                _ => None,
            })
            .collect();
        assert_eq!(advised.into_iter().collect::<Vec<_>>(), [expected], "{launch}, {level}");
    }
    // Without any `MEMBAR` in a CTA, the lowest is named.
    let bare = handshake(
        "warps: 2",
        "ST [data], 7; ST [flag], 1;",
        "await LD [flag] == 1; MEMBAR.CTA; let v = LD [data];",
    );
    let outcome = outcome(&bare, &[]);
    let reasons: Vec<Reason> = outcome
        .findings
        .iter()
        .flat_map(|finding| explain(&outcome.graph, &spa_model(&[]), finding).reasons)
        .collect();
    let is_lowest =
        |reason: &Reason| matches!(reason, Reason::Spa(SpaReason::NoMembar { needed: MembarLevel::Cta, .. }));
    assert!(reasons.iter().any(is_lowest), "{reasons:?}");
    assert!(MembarLevel::ALL.is_sorted());
}

/// SPA-6: annotations for scoreboard and scheduling have no meaning for memory, and no spelling here.
#[test]
fn scoreboard_annotations_are_not_written() {
    let text = kernel("ctas: 1", "data", "ST [data], 7; MEMBAR.GL &req_6;");
    let read = load(&mut SourceMap::default(), "k.fence", &mut |_| Ok(text.clone()), &LoadOptions::default());
    assert!(read.is_err());
}
