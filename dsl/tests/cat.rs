//! The memory-model language, from text to the dumped model or to error codes with their lines.

use fencepost_dsl::cat::{
    dump, load,
    memory_model::{MemoryModel, RelationKind, TermId, TermKind},
};
use fencepost_dsl::{Diagnostic, SourceMap};

fn load_files(
    files: &[(&str, &str)],
    variants: &[&str],
) -> (SourceMap, Result<MemoryModel, Vec<Diagnostic>>) {
    let mut sources = SourceMap::default();
    let mut read = |path: &str| {
        let found = files.iter().find(|(name, _)| *name == path);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    };
    let variants: Vec<String> = variants.iter().map(|one| (*one).to_owned()).collect();
    let result = load(&mut sources, files[0].0, &mut read, &variants);
    (sources, result)
}

fn model(text: &str) -> MemoryModel {
    load_files(&[("m.cat", text)], &[]).1.expect("the model is right")
}

/// `code line` per error.
fn errors(text: &str) -> Vec<String> {
    errors_of(&[("m.cat", text)])
}

fn errors_of(files: &[(&str, &str)]) -> Vec<String> {
    let (sources, result) = load_files(files, &[]);
    let lines = |one: &Diagnostic| format!("{} {}", one.code, sources.line_column(one.span()).line);
    result.expect_err("the model is wrong").iter().map(lines).collect()
}

/// A term of base relations and `;` as text.
fn written(model: &MemoryModel, term: TermId) -> String {
    match &model.terms[term].kind {
        TermKind::Relation(RelationKind::Base(base)) => base.name().to_owned(),
        TermKind::Relation(RelationKind::Sequence(a, b)) => {
            format!("({};{})", written(model, *a), written(model, *b))
        }
        other => format!("{other:?}"),
    }
}

/// The models are equal but for the spans.
#[track_caller]
fn same(left: &str, right: &str) {
    assert_eq!(dump(&model(left)), dump(&model(right)), "{left} / {right}");
}

#[test]
fn precedence_is_that_of_the_herd_tools() {
    same("let x = po | rf ; co \\ fr & int", "let x = po | (rf ; (co \\ (fr & int)))");
    same("let x = po \\ rf \\ co", "let x = (po \\ rf) \\ co");
    same("let x = po | rf | co", "let x = po | (rf | co)");
    same("let x = ~po^-1+? & W * R", "let x = (~(((po^-1)+)?)) & (W * R)");
    same("let x = po & W * R \\ id", "let x = (po & (W * R)) \\ id");
    same("let x = [W] ; po+ ; [R]", "let x = [W] ; ((po+) ; [R])");
}

#[test]
fn a_star_is_a_product_if_an_operand_follows() {
    same("let x = po* ; rf", "let x = (po*) ; rf");
    same("let x = po*\nlet y = (po*)", "let x = (po*) let y = po*");
    assert!(dump(&model("let x = W * (R | F)")).contains("product"));
    assert!(dump(&model("let x = (po*)")).contains("reflexive-transitive-closure"));
}

#[test]
fn a_dump_lists_nodes_then_statements() {
    let text =
        "\"tiny\"\nlet a = [W] ; po\nlet rec r = rf | (r ; r)\nacyclic a | r\nflag ~empty a as race.scope";
    let expected = "\
model tiny
t0 = set W
t1 = identity t0
t2 = relation po
t3 = sequence t1 t2
t4 = recursive r0
t5 = relation rf
t6 = sequence t4 t4
t7 = union t5 t6
t8 = union t3 t4
recursive r0 = t7
let a = t3
let r = t4
acyclic t8 as axiom-1
flag ~empty t3 as race.scope
";
    assert_eq!(dump(&model(text)), expected);
}

#[test]
fn titles() {
    assert_eq!(model("PTX\nlet a = po").name, "PTX");
    assert_eq!(model("\"A title\"").name, "A title");
    assert_eq!(model("PTX \"A title\"\nempty 0").name, "A title");
    assert_eq!(model("let a = po").name, "m.cat");
    assert_eq!(model("").name, "m.cat");
}

#[test]
fn comments_nest() {
    same("(* a (* b *) \" c *) let x = po // | rf\n", "let x = po");
    assert_eq!(errors("let x = po\n(* a (* b *)"), ["syntax::unterminated-comment 2"]);
}

#[test]
fn functions_are_inlined() {
    let last = |text: &str| {
        let model = model(text);
        written(&model, model.axioms[0].term)
    };
    let plain = last("acyclic po ; rf ; po");
    assert_eq!(last("let f(a, b) = a ; b ; a acyclic f(po, rf)"), plain);
    assert_eq!(last("let f a = a ; rf ; a acyclic f po"), plain);
    assert_eq!(last("let f (a) = let g(b) = a ; b in g(rf ; a) acyclic f(po)"), plain);
    assert!(dump(&model("let x = po ; [F] ; po let y = fencerel(F)")).ends_with("let x = t4\nlet y = t4\n"));
    same("let x = toid(F) let y = domain(rf)", "let x = [F] let y = domain rf");
}

#[test]
fn a_function_sees_what_was_defined_before_it() {
    let text = dump(&model("let a = po let f(x) = a ; x let a = rf acyclic f(co) as n"));
    assert!(text.contains("t0 = relation po\n") && text.contains("= sequence t0 "), "{text}");
}

#[test]
fn a_definition_hides_a_base_name_from_there_on() {
    same("let fr = rf^-1;co acyclic fr", "let fr = rf^-1;co acyclic (rf^-1;co)");
    let text = dump(&model("let co = co+ let x = co"));
    assert!(text.contains("let x = t1\n") && text.contains("t1 = transitive-closure t0\n"), "{text}");
}

#[test]
fn a_variant_picks_a_branch() {
    let text = "let x = if \"strict\" po else rf\nlet y = (if \"other\" then co else fr) ; po\nacyclic x";
    let files = [("m.cat", text)];
    let dumped = |variants: &[&str]| dump(&load_files(&files, variants).1.unwrap());
    assert!(dumped(&["strict"]).contains("let x = t0\n"), "{}", dumped(&["strict"]));
    assert!(dumped(&[]).contains("let x = t1\n"), "{}", dumped(&[]));
    assert_eq!(errors("let x = if \"strict\" po else\n nonsense"), ["cat::unknown-name 2"]);
}

#[test]
fn includes_are_read_beside_the_file_first() {
    let files = [
        ("d/m.cat", "\"main\" include \"a.cat\" include \"b.cat\" acyclic a | b"),
        ("d/a.cat", "\"a\" let a = po"),
        ("b.cat", "let b = rf"),
    ];
    let (sources, result) = load_files(&files, &[]);
    let model = result.unwrap();
    assert_eq!(model.name, "main");
    assert_eq!(model.definitions.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(sources.file(model.terms[model.definitions[0].1].span.file).name, "d/a.cat");
    assert_eq!(errors_of(&[("m.cat", "\ninclude \"x.cat\"")]), ["cat::include 2"]);
    assert_eq!(errors_of(&[("m.cat", "\ninclude \"m.cat\"")]), ["cat::include-cycle 2"]);
    assert_eq!(
        errors_of(&[("m.cat", "include \"a.cat\""), ("a.cat", "\n\nlet x = y")]),
        ["cat::unknown-name 3"]
    );
}

#[test]
fn recursion_is_positive() {
    assert_eq!(errors("let rec a = po |\n (rf \\ a)"), ["cat::negative-recursion 2"]);
    assert_eq!(errors("let rec a = po | b\nand b = rf ; ~a"), ["cat::negative-recursion 2"]);
    assert_eq!(errors("let f(x) = ~x\nlet rec a = po | f(a)"), ["cat::negative-recursion 1"]);
    assert_eq!(errors("let rec a = po ; [R \\ domain(a)]"), ["cat::negative-recursion 1"]);
    assert_eq!(errors("let rec a = W"), ["cat::set-or-relation 1"]);
    assert_eq!(errors("let rec f(x) = po"), ["cat::recursive-function 1"]);
    assert_eq!(errors("let x = let rec a = po in a"), ["syntax::unexpected-token 1"]);
    let text =
        dump(&model("let rec a = po | (b ; a) and b = (rf | a) \\ id\nlet c = co \\ a let rec d = c | d"));
    assert_eq!(text.lines().filter(|line| line.starts_with("recursive r")).count(), 3, "{text}");
}

#[test]
fn sets_are_not_relations() {
    assert_eq!(
        errors("let x = W ; po\nlet y = [po]\nlet z = W | po"),
        ["cat::set-or-relation 1", "cat::set-or-relation 2", "cat::set-or-relation 3"]
    );
    assert_eq!(errors("acyclic W"), ["cat::set-or-relation 1"]);
    assert_eq!(
        errors("let x = po * R\nlet y = W^-1\nlet z = domain(W)"),
        ["cat::set-or-relation 1", "cat::set-or-relation 2", "cat::set-or-relation 3"]
    );
    let (_, result) = load_files(&[("m.cat", "let x = W ; po")], &[]);
    assert!(result.unwrap_err()[0].help.as_ref().unwrap().contains("[S]"));
}

#[test]
fn names_are_known_functions_are_applied() {
    assert_eq!(
        errors("let x = pp\nlet y = morallystrong\nlet z = x"),
        ["cat::unknown-name 1", "cat::unknown-name 2"]
    );
    let (_, result) = load_files(&[("m.cat", "let morally-strong = po acyclic morally_strong")], &[]);
    assert_eq!(result.unwrap_err()[0].help.as_deref(), Some("did you mean `morally-strong`?"));
    assert_eq!(errors("let f(a, b) = a ; b\nlet x = f(po)"), ["cat::argument-count 2"]);
    assert_eq!(errors("let f(a) = a\nlet x = f"), ["cat::missing-arguments 2"]);
    assert_eq!(errors("let x = domain"), ["cat::missing-arguments 1"]);
    assert_eq!(errors("let x = [W] ; po [R]"), ["cat::not-a-function 1"]);
    assert_eq!(errors("let f(a) = a ; nonsense\nlet x = f(po)\nlet y = f(rf)"), ["cat::unknown-name 1"]);
    assert_eq!(errors("let f(a) = f(a)"), ["cat::unknown-name 1"]);
}

#[test]
fn syntax_errors_do_not_hide_each_other() {
    let text = "let x = po |\nlet y = (po\nacyclic po as\nempty ) po\nlet ok = po\nlet z = po # rf";
    let expected = [
        "syntax::unexpected-token 2",
        "syntax::unexpected-token 3",
        "syntax::unexpected-token 4",
        "syntax::unexpected-token 4",
        "syntax::unexpected-character 6",
    ];
    assert_eq!(errors(text), expected);
    assert_eq!(errors("let x ="), ["syntax::unexpected-end 1"]);
    assert_eq!(errors("let x = po\nprocedure f() = end"), ["syntax::unsupported 2"]);
    assert_eq!(
        errors("let x = \"abc\nlet y = po"),
        ["syntax::unterminated-string 1", "syntax::unexpected-end 2"]
    );
}

#[test]
fn checks() {
    let model = model("empty po irreflexive rf as i flag ~acyclic po flag ~irreflexive rf as f.g");
    let names: Vec<&str> = model.axioms.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["axiom-1", "i"]);
    let names: Vec<&str> = model.flags.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["flag-1", "f.g"]);
    assert_eq!(
        errors("~empty po as x\nflag empty po"),
        ["cat::unsupported-check 1", "cat::unsupported-check 2"]
    );
    assert_eq!(errors("let a = po\nflag empty po"), ["cat::unsupported-check 2"]);
    same("show po, rf as x unshow co\nacyclic po", "acyclic po");
}

#[test]
fn limits_are_errors_and_not_crashes() {
    let deep = format!("let x = {}po", "~".repeat(300));
    assert_eq!(errors(&deep), ["syntax::too-deep 1"]);
    let parentheses = format!("let x = {}po{}", "(".repeat(50_000), ")".repeat(50_000));
    same(&parentheses, "let x = po");
    let unclosed = "(".repeat(50_000);
    assert_eq!(errors(&format!("let x = {unclosed}")), ["syntax::unexpected-end 1"]);
    let mut doubling = "let f0(x) = x ; x\n".to_owned();
    for n in 1..40 {
        doubling += &format!("let f{n}(x) = f{}(f{}(x))\n", n - 1, n - 1);
    }
    let codes = errors(&format!("{doubling}acyclic f39(po)"));
    assert!(codes.iter().any(|one| one.starts_with("cat::too-large")), "{codes:?}");
    let mut chain = format!("let f0(x) = {}\n", vec!["x"; 200].join(" ; "));
    for n in 1..8 {
        chain += &format!("let f{n}(x) = {}f{}(x){}\n", "po ; (".repeat(200), n - 1, ")".repeat(200));
    }
    assert_eq!(errors(&format!("{chain}acyclic f7(po)")), ["cat::too-deep 6"]);
    let files = [("m.cat", "include \"a.cat\" include \"a.cat\""), ("a.cat", "let x = po")];
    assert_eq!(load_files(&files, &[]).1.unwrap().definitions.len(), 2);
}

#[test]
fn empty_is_a_set_or_a_relation_and_disappears() {
    assert!(dump(&model("let x = po | {} ; rf")).ends_with("\nlet x = t0\n"));
    assert!(dump(&model("let e = {} let x = W | e let y = po \\ e")).contains("let x = t1\n"));
    assert!(dump(&model("let x = TEX * TEX | GEN * GEN")).contains("union"));
    assert!(dump(&model("let x = ~~po")).ends_with("\nlet x = t0\n"));
}

#[test]
fn a_model_of_ptx_loads() {
    let text = r#"
PTX
(* excerpt *)
let morally-strong = ((po | po^-1 | [STRONG] ; sr ; [STRONG]) & (((M * M) & overlap-complete) | (_ * _ \ (M * M)))) \ id
let rec obs = (morally-strong & rf) | (obs ; rmw ; obs)
let release = ([W & REL] ; (po & loc)? ; [W & STRONG]) | ([F & (REL | ACQ_REL | SC)] ; po ; [W & STRONG])
let acquire = ([R & STRONG] ; (po & loc)? ; [R & ACQ]) | ([R & STRONG] ; po ; [F & (ACQ | ACQ_REL | SC)])
let sync = morally-strong & (release ; obs ; acquire)
let sw = sync | syncbar | sync_fence
let base-causality = (po | sw)+
let cause = base-causality | (obs ; base-causality)
empty (([W] ; cause ; [W]) & loc) \ co as coherence
acyclic rf | addr | data | ctrl as no-thin-air
irreflexive (rf | fr) ; cause as causality
let conflict = ((W * M) | (M * W)) & loc & ext
let race = (conflict \ morally-strong) \ (cause | cause^-1)
flag ~empty race as race
flag ~empty race & (STRONG * STRONG) as race.scope
"#;
    let model = model(text);
    assert_eq!(model.name, "PTX");
    assert_eq!(model.axioms.len(), 3);
    assert_eq!(model.flags.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["race", "race.scope"]);
    assert_eq!(model.recursive.len(), 1);
    assert!(dump(&model).contains("\nlet obs = "));
}
