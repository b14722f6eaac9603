//! The grammar that colours kernels in editors has the words of the language: `BLESS=1` writes it anew.

use fencepost_dsl::kernel::isa;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// Words of `token.rs`, by what they are to a reader.
const DECLARATIONS: &str = "alias client const constant final fn global import kernel launch let multimem of param program register \
                            shared surface symmetric texture tmem use var view";
const CONTROL: &str = "as assert assume await break else exit for if in loop reachable return while";
const REGISTERS: &str = "clusterid cluster_ctarank cluster_nctarank ctaid gpuid laneid nctaid nclusterid ngpuid ntid nwarpid tid warpid";
const TYPES: &str = "b128 mbarrier tensormap u16 u32 u64 u8";

fn words(list: &str) -> String {
    list.split_whitespace().collect::<Vec<_>>().join("|")
}

fn grammar() -> String {
    let names = isa::families().chain(isa::spa_families());
    let mnemonics: BTreeSet<&str> = names.filter_map(|family| family.name.split('.').next()).collect();
    let mnemonics = mnemonics.into_iter().collect::<Vec<_>>().join("|");
    let rules = [
        ("comment.line.documentation.fence", "//[/!].*$".to_owned()),
        ("comment.line.double-slash.fence", "//.*$".to_owned()),
        ("string.quoted.double.fence", "\\\"[^\\\"]*\\\"".to_owned()),
        // An opcode with its modifiers; a word alone is one in front of a bracket only.
        (
            "keyword.operator.word.opcode.fence",
            format!("\\\\b(?:{mnemonics})(?:(?:\\\\.[A-Za-z0-9_]+(?:::[A-Za-z0-9_]+)*)+|(?=\\\\s*\\\\[))"),
        ),
        ("storage.type.fence", format!("\\\\b(?:{})\\\\b", words(DECLARATIONS))),
        ("keyword.control.fence", format!("\\\\b(?:{})\\\\b", words(CONTROL))),
        ("variable.language.fence", format!("\\\\b(?:{})\\\\b(?:\\\\.[xyz]\\\\b)?", words(REGISTERS))),
        ("support.type.fence", format!("\\\\b(?:{})\\\\b", words(TYPES))),
        ("constant.language.fence", "\\\\b(?:true|false)\\\\b".to_owned()),
        ("constant.numeric.fence", "\\\\b[0-9][A-Za-z0-9_]*\\\\b".to_owned()),
        ("entity.name.function.fence", "\\\\b[A-Za-z_][A-Za-z0-9_]*(?=\\\\()".to_owned()),
    ];
    let mut text = "{\n  \"name\": \"fence\",\n  \"scopeName\": \"source.fence\",\n  \"fileTypes\": [\"fence\"],\n  \"patterns\": [\n    \
                    { \"name\": \"comment.block.fence\", \"begin\": \"/\\\\*\", \"end\": \"\\\\*/\" }"
        .to_owned();
    for (scope, pattern) in rules {
        // Writing to a string does not fail.
        let _ = write!(text, ",\n    {{ \"name\": \"{scope}\", \"match\": \"{pattern}\" }}");
    }
    text + "\n  ]\n}\n"
}

/// The file is what it was made from, or is made anew.
fn is_written(path: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, wanted).expect("it can be written");
    }
    let written = std::fs::read_to_string(&path).expect("it is there");
    assert_eq!(written, wanted, "write it anew with `BLESS=1 cargo test -p fencepost-dsl --test editors`");
}

#[test]
fn the_grammar_of_editors_has_the_words_of_the_language() {
    is_written("editors/vscode/syntaxes/fence.tmLanguage.json", &grammar());
}

/// The book and the playground colour by the same grammar, as a script since a page opened from disk can fetch nothing.
#[test]
fn the_grammar_of_pages_is_that_of_editors() {
    let script = format!(
        "// Written by `BLESS=1 cargo test -p fencepost-dsl --test editors`.\nwindow.fenceGrammar = {};\n",
        grammar().trim_end()
    );
    is_written("../book/theme/fence.js", &script);
}

#[test]
fn each_word_of_the_lexer_is_coloured_and_no_other() {
    let lexer = include_str!("../src/kernel/token.rs");
    let mut known: Vec<&str> =
        [DECLARATIONS, CONTROL, "true false"].iter().flat_map(|list| list.split_whitespace()).collect();
    let tokens = lexer.split("#[token(\"").skip(1).filter_map(|rest| rest.split('"').next());
    let is_word = |text: &&str| text.starts_with(|c: char| c.is_ascii_lowercase());
    let mut own: Vec<&str> = tokens.filter(is_word).chain(["client"]).collect();
    known.sort_unstable();
    own.sort_unstable();
    assert_eq!(known, own);
}
