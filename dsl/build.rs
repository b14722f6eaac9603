//! Runs LALRPOP on the two grammars.

fn main() {
    lalrpop::process_root().expect("the grammars are valid");
}
