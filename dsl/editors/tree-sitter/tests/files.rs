//! Every kernel file of the repository has a tree without errors, and every file of a set of wrong ones has an error.

use std::fs;
use std::path::{Path, PathBuf};
use tree_sitter::{Node, Parser, Query};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn files(folders: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "fence") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The first place that is none of the language's.
fn error(node: Node<'_>) -> Option<String> {
    if !node.has_error() {
        return None;
    }
    if node.is_error() || node.is_missing() {
        let at = node.start_position();
        return Some(format!("{}:{}: {}", at.row + 1, at.column + 1, node.to_sexp()));
    }
    (0..node.child_count()).find_map(|index| error(node.child(index)?))
}

fn parser() -> Parser {
    let mut parser = Parser::new();
    parser.set_language(&fencepost_tree_sitter::LANGUAGE.into()).expect("the versions suit each other");
    parser
}

#[test]
fn every_kernel_file_has_a_tree() {
    let mut parser = parser();
    let files = files(&["examples", "checker/lib", "checker/cli", "tests/tables", "tests/sizes", "tests/repairs", "tests/rules"]);
    assert!(files.len() > 500, "{} files were found", files.len());
    let wrong: Vec<String> = files
        .iter()
        .filter_map(|path| {
            let text = fs::read_to_string(path).expect("kernels are text");
            let tree = parser.parse(&text, None).expect("nobody interrupts it");
            Some(format!("{}:{}", path.display(), error(tree.root_node())?))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), files.len(), wrong.join("\n"));
}

#[test]
fn every_wrong_file_has_an_error() {
    let mut parser = parser();
    let files = files(&["dsl/editors/tree-sitter/wrong"]);
    assert!(files.len() >= 20, "{} files were found", files.len());
    for path in files {
        let text = fs::read_to_string(&path).expect("they are text");
        let tree = parser.parse(&text, None).expect("nobody interrupts it");
        assert!(tree.root_node().has_error(), "{}: {}", path.display(), tree.root_node().to_sexp());
    }
}

#[test]
fn colours_are_of_what_there_is() {
    let text = fs::read_to_string(root().join("dsl/editors/tree-sitter/queries/highlights.scm")).expect("it is there");
    let query = Query::new(&fencepost_tree_sitter::LANGUAGE.into(), &text).expect("it names what the grammar has");
    assert!(query.pattern_count() > 10);
}
