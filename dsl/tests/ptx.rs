//! The PTX reader: real modules are read whole, and no text makes it panic or run long.

#[path = "kernel/random.rs"]
mod random;

use fencepost_dsl::ptx::module::{Item, Line, OperandKind};
use fencepost_dsl::ptx::{Module, parse};
use fencepost_dsl::{Diagnostic, FileId};
use random::Random;
use std::path::{Path, PathBuf};

fn read(text: &str) -> Result<Module, Diagnostic> {
    parse(text, FileId(0))
}

fn folder(path: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let is_ptx = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "ptx");
    let mut found: Vec<(PathBuf, String)> = paths
        .filter(is_ptx)
        .map(|path| (path.clone(), std::fs::read_to_string(&path).expect("it is text")))
        .collect();
    found.sort();
    found
}

const MODULE: &str = r#"
.version 8.4
.target sm_90a, debug
.address_size 64
.global .align 4 .u32 counter = 7;
.const .align 8 .b8 table[4] = {1, 2, {3, 4}};
.extern .shared .align 16 .b8 dynamic[];
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.visible .entry _ZN3lib4workEPj(
    .param .u64 .ptr .global .align 4 p,
    .param .align 64 .b8 q[128]
)
.reqntid 32, 2, 1
.maxnreg 168
{
    .reg .pred %p<3>;
    .reg .b32 %r<8>, single;
    .loc 1 3 0
    mov.u32 %r1, %tid.x;
    .loc 2 9 1, function_name $info, inlined_at 1 5 2
$L_a: { // a scope of its own
    .reg .pred %p<2>; .reg .b32 single;
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [dynamic+-8], 0;
    @!%p1 bra.uni wait;
    mov.b32 single, 0F3f800000;
    }
    { wait: @%p2 bra wait; }
    ld.global.v2.u32 {%r2, _}, [ %r1 + 0 ];
    shfl.sync.up.b32 %r3|%p2, %r2, 1, 0, -1;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [q, {%r2, single}], [%r3];
    call.uni (%r1), vprintf, (%r2, %r3);
$L_t: .branchtargets $L_a, $L_end;
    brx.idx %r1, $L_t;
$L_end: ret;
}
.file 1 "work.cu"
.file 2 "header.h"
.section .debug_str { $L_info: .b8 1,2,3 }
"#;

#[test]
fn everything_that_the_grammar_has_is_read() {
    let module = read(MODULE).expect("it is well-formed");
    assert_eq!(module.version, (8, 4));
    assert_eq!(module.target[0].text, "sm_90a");
    let sizes: Vec<u64> = module.variables.iter().map(|variable| variable.bytes).collect();
    assert_eq!(sizes, [4, 4, 0]);
    assert_eq!(module.variables[1].initial.len(), 4);
    assert!(!module.functions[0].has_body);
    let entry = module.entry("work").expect("its own name is enough");
    assert_eq!(entry.parameters[1].bytes, 128);
    assert_eq!(entry.directives[0].1, [32, 2, 1]);
    let instructions: Vec<_> = entry
        .body
        .iter()
        .filter_map(|item| match item {
            Item::Instruction(instruction) => Some(instruction),
            _ => None,
        })
        .collect();
    let names: Vec<String> = instructions
        .iter()
        .flat_map(|instruction| &instruction.operands)
        .filter_map(|operand| match &operand.kind {
            OperandKind::Name(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    assert!(
        names.iter().any(|name| name == "wait@1") && names.iter().any(|name| name == "wait@2"),
        "{names:?}"
    );
    assert_eq!(
        instructions[2].guard.as_ref().map(|(name, negated)| (name.text.as_str(), *negated)),
        Some(("%p1@1", true))
    );
    assert_eq!(instructions[4].guard.as_ref().map(|(name, _)| name.text.as_str()), Some("%p2"));
    let wait = &instructions[1];
    assert_eq!(wait.operands[1].kind, OperandKind::Memory(vec![wait_sum(wait)]));
    let place = module.location(wait.span.start).expect("a line was said");
    assert_eq!(place.chain, [Line { file: 2, line: 9, column: 1 }, Line { file: 1, line: 5, column: 2 }]);
    assert_eq!(module.file_name(1), Some("work.cu"));
}

fn wait_sum(wait: &fencepost_dsl::ptx::module::Instruction) -> fencepost_dsl::ptx::module::Operand {
    fencepost_dsl::ptx::module::Operand { span: wait.span, kind: OperandKind::Sum("dynamic".to_owned(), -8) }
}

#[test]
fn what_is_no_ptx_is_said_with_its_place() {
    let in_body = |body: &str| format!(".version 9.0\n.target sm_90\n.entry k() {{\n{body}\n}}\n");
    let line = |text: &str, error: &Diagnostic| text[..error.span().start as usize].matches('\n').count() + 1;
    for (text, code, at) in [
        (String::new(), "syntax::ptx", 1),
        ("kernel k { }".to_owned(), "syntax::ptx", 1),
        (".version 10.0\n".to_owned(), "unsupported::ptx-version", 1),
        (".version 9.0\n.address_size 32\n".to_owned(), "unsupported::address-size", 2),
        (in_body("ld.global.u32 %r1, [%rd1"), "syntax::ptx", 5),
        (in_body("ld.global.u32 %r1 %r2;"), "syntax::ptx", 4),
        (in_body(".surprise 3;"), "syntax::ptx", 4),
        (in_body("add.s32 %r1, %r1, #;"), "syntax::ptx", 4),
        (in_body("/* no end"), "syntax::ptx", 4),
        (in_body(&"{".repeat(1000)), "limit::nesting", 4),
        (in_body(&format!("mov {}", "[".repeat(1000))), "limit::nesting", 4),
        (in_body("").replace("\n}\n", "\n"), "syntax::ptx", 5),
    ] {
        let error = read(&text).expect_err("it is no PTX");
        assert_eq!((error.code, line(&text, &error)), (code, at), "{text}: {error:?}");
    }
}

/// The committed modules, and those of the project's own collection where that is at hand.
fn modules() -> Vec<(PathBuf, String)> {
    let mut found = folder("../examples/ptx");
    found.extend(folder("../../shared/ptx-samples"));
    found
}

#[test]
fn real_modules_are_read() {
    for (path, text) in modules() {
        let module = read(&text).unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
        assert!(module.functions.iter().any(|function| function.is_entry), "{}", path.display());
        assert!(module.locations.is_sorted_by_key(|location| location.offset));
    }
}

#[test]
fn mutated_modules_never_panic() {
    let mut random = Random(7);
    let junk = [
        "{", "}", "[", "]", ",", ";", ":", "@", "!", ".", "%p", "-", "0x", "\"", "/*", "\u{e9}", "<", ".reg",
        ".loc",
    ];
    let mut texts: Vec<String> =
        modules().into_iter().map(|(_, text)| text).filter(|text| text.len() < 20_000).collect();
    texts.push(MODULE.to_owned());
    for text in texts {
        for _ in 0..60 {
            let mut at = random.below(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let mut end = (at + random.below(40)).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let mutated = match random.below(3) {
                0 => text[..at].to_owned(),
                1 => format!("{}{}{}", &text[..at], junk[random.below(junk.len())], &text[at..]),
                _ => format!("{}{}", &text[..at], &text[end.max(at)..]),
            };
            if let Err(error) = read(&mutated) {
                assert!(error.span().end as usize <= mutated.len(), "{error:?}");
            }
        }
    }
}

#[test]
fn twenty_thousand_lines_are_read_whole() {
    let line = "\t.loc\t1 7 9\n\tmad.lo.s32 \t%r4, %r2, %r1, %r3;\n\tld.global.u32 \t%r6, [%rd1+16];\n\t// a comment\n";
    let body = line.repeat(5000);
    let text =
        format!(".version 9.0\n.target sm_90\n.visible .entry k() {{\n.reg .b32 %r<8>;\n{body}ret;\n}}\n");
    let module = read(&text).expect("it is well-formed");
    assert_eq!(module.functions[0].body.len(), 10_001);
}

/// Calls of functions of the module are put in place, under names of their own; what cannot be stays a call.
#[test]
fn functions_stand_where_they_are_called() {
    let text = |functions: &str, body: &str| {
        format!(
            ".version 9.0\n.target sm_90\n{functions}\n.visible .entry k() {{\n.reg .b32 %r<4>; .reg .pred %p<2>;\n{body}\nret;\n}}\n"
        )
    };
    let opcodes = |functions: &str, body: &str| -> Vec<String> {
        let module = read(&text(functions, body)).expect("it is well-formed");
        let items = &module.entry("k").expect("it is there").body;
        let own = items.iter().filter_map(|item| match item {
            Item::Instruction(instruction) => Some(instruction.opcode.text.clone()),
            _ => None,
        });
        own.collect()
    };
    let f = ".func f(.reg .b32 %x) { .reg .pred %p<2>; @%p1 ret; st.global.b32 [%x], 1; ret; }";
    assert_eq!(opcodes(f, "call f, (%r1);"), ["mov.b32", "bra", "st.global.b32", "ret"]);
    assert_eq!(opcodes(f, "@%p1 call f, (%r1);"), ["bra", "mov.b32", "bra", "st.global.b32", "ret"]);
    let twice = read(&text(f, "call f, (%r1); call f, (%r2);")).expect("it is well-formed");
    let entry = twice.entry("k").expect("it is there");
    let stores: Vec<_> = entry
        .body
        .iter()
        .filter_map(|item| match item {
            Item::Instruction(instruction) if instruction.opcode.text.starts_with("st") => Some(instruction),
            _ => None,
        })
        .collect();
    assert_eq!(stores[0].span, stores[1].span);
    assert_ne!(stores[0].operands, stores[1].operands, "each has registers of its own");
    assert_ne!(stores[0].calls, stores[1].calls, "each says which call it is of");
    // Functions that call functions, and the calls on the way, outermost first.
    let g = format!("{f}\n.func g(.reg .b32 %y) {{ call f, (%y); ret; }}");
    let nested = read(&text(&g, "call g, (%r1);")).expect("it is well-formed");
    let calls = nested.entry("k").expect("it is there").body.iter().find_map(|item| match item {
        Item::Instruction(own) if own.opcode.text.starts_with("st") => Some(own.calls.clone()),
        _ => None,
    });
    let whole = text(&g, "call g, (%r1);");
    let shown = |span: fencepost_dsl::Span| &whole[span.start as usize..span.end as usize];
    let calls: Vec<&str> = calls.expect("it stores").into_iter().map(shown).collect();
    assert_eq!(calls, ["call g, (%r1)", "call f, (%y)"]);
    for (functions, body) in [
        (".func f();", "call f;"),
        (".func f() { call f; ret; }", "call f;"),
        (".func f(); .func g() { call f; ret; }", "call g;"),
        (".func f(.reg .b32 %x) { ret; }", "call f;"),
        ("", "call %r1, (), F;"),
        ("", "call k;"),
    ] {
        assert!(opcodes(functions, body).contains(&"call".to_owned()), "{functions} {body}");
    }
    // Each function twice the one before: it ends, and what is too much stays a call.
    let mut many = ".func f0() { membar.gl; ret; }\n".to_owned();
    for n in 1..40 {
        let before = n - 1;
        many += &format!(".func f{n}() {{ call f{before}; call f{before}; ret; }}\n");
    }
    let found = opcodes(&many, "call f39;");
    assert!(found.contains(&"call".to_owned()) && found.len() <= 400_000, "{}", found.len());
}

/// The lines of a source that the instructions of an unrolled loop come from, of which only the first copies say all.
#[test]
fn a_copy_of_what_was_inlined_belongs_to_the_line_of_its_instruction() {
    let load = |at: &str, register: &str| {
        format!("{at}\t// begin inline asm\n\tld.relaxed.gpu.b32 %r1,[{register}];\n")
    };
    let outer = |line: u32| {
        format!("\t.loc 1 {line} 7\n\t.loc 2 82 55, function_name $L__a, inlined_at 1 {line} 7\n")
    };
    let inner = "\t.loc 3 308 1, function_name $L__b, inlined_at 2 82 55\n";
    let text = [
        outer(10),
        load(inner, "%rd2"),
        outer(11),
        load(inner, "%rd3"),
        load(inner, "%rd2"),
        load(inner, "%rd3"),
        load(inner, "%rd4"),
    ];
    let text = format!(
        ".version 9.0\n.target sm_90\n.visible .entry k() {{\n\t.reg .b32 %r<2>;\n\t.reg .b64 %rd<5>;\n{}\tret;\n}}\n",
        text.concat()
    );
    let module = read(&text).unwrap_or_else(|error| panic!("{error:?}"));
    let lines = module.locations.iter().filter(|own| own.chain[0].file == 3);
    let lines: Vec<u32> = lines.filter_map(|own| own.chain.last()).map(|line| line.line).collect();
    // Of what is like none before, the one that was told last.
    assert_eq!(lines, [10, 11, 10, 11, 11]);
}

/// Two calls of one function, each of which calls another twice, in two kernels: what is told last is what is meant, and what
/// another kernel was told is not.
#[test]
fn what_was_inlined_belongs_to_the_call_that_was_told_last() {
    let call = |line: u32| {
        format!(
            "\t.loc 1 {line} 5\n\t.loc 2 304 9, function_name $L__a, inlined_at 1 {line} 5\n\
             \t.loc 4 476 13, function_name $L__b, inlined_at 2 304 9\n\tbarrier.cluster.arrive;\n\
             \t.loc 4 477 13, function_name $L__b, inlined_at 2 304 9\n\tbarrier.cluster.wait;\n"
        )
    };
    let kernel = |name: &str, body: String| {
        format!(".visible .entry {name}() {{\n\t.reg .b32 %r<2>;\n\t.reg .b64 %rd<5>;\n{body}\tret;\n}}\n")
    };
    let text = format!(
        ".version 9.0\n.target sm_90\n{}{}",
        kernel("k", call(10) + &call(12)),
        kernel("l", call(20) + &call(22))
    );
    let module = read(&text).unwrap_or_else(|error| panic!("{error:?}"));
    let lines = module.locations.iter().filter(|own| own.chain[0].file == 4);
    let lines: Vec<u32> = lines.filter_map(|own| own.chain.last()).map(|line| line.line).collect();
    assert_eq!(lines, [10, 10, 12, 12, 20, 20, 22, 22]);
}

/// A copy of a loop's body behind a branch, of which only the outermost places are told.
#[test]
fn what_was_inlined_in_another_block_belongs_to_the_line_before_it() {
    let inner = "\t.loc 3 201 13, function_name $L__c, inlined_at 3 219 9\n";
    let load = |register: &str| format!("{inner}\tcp.async.cg.shared.global [%r1], [{register}], 16;\n");
    let text = format!(
        ".version 9.0\n.target sm_90\n.visible .entry k() {{\n\t.reg .b32 %r<2>;\n\t.reg .b64 %rd<5>;\n\
         \t.loc 1 10 5, function_name $L__a, inlined_at 1 43 30\n\
         \t.loc 3 219 9, function_name $L__b, inlined_at 1 10 5\n{}\
         $L__BB0_1:\n\t.loc 1 19 13, function_name $L__a, inlined_at 1 43 30\n{}\tret;\n}}\n",
        load("%rd2"),
        load("%rd3")
    );
    let module = read(&text).unwrap_or_else(|error| panic!("{error:?}"));
    let lines = module.locations.iter().filter(|own| own.chain[0].line == 201);
    let lines: Vec<u32> = lines.map(|own| own.chain[2].line).collect();
    assert_eq!(lines, [10, 19]);
}
