//! Without the feature `foreign`: what other languages call a thing is wrong all the same, and gets the plain error.
//!
//! `cargo test -p fencepost-dsl --no-default-features --test kernel_plain`

#![cfg(not(feature = "foreign"))]

use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{LoadOptions, load};

fn codes(line: &str) -> Vec<&'static str> {
    let text = format!("kernel k {{\n    launch {{ ctas: 2 }}\n    global x: u32 = 0;\n    {line}\n}}\n");
    let mut sources = SourceMap::default();
    let errors = load(&mut sources, "k.fence", &mut |_| Ok(text.clone()), &LoadOptions::default()).err();
    errors.unwrap_or_default().into_iter().map(|error| error.code).collect()
}

#[test]
fn names_of_other_languages_get_the_plain_error() {
    assert_eq!(codes("st [x], 1;"), [""; 0]);
    for line in [
        "__syncthreads();",
        "atomicAdd(&x, 1);",
        "int v = 3;",
        "st [x], threadIdx.x;",
        "for (int i = 0; i < 4; i++) { st [x], 1; }",
        "cuda::atomic_ref<int>(x).store(1);",
    ] {
        let codes = codes(line);
        assert!(!codes.is_empty() && !codes.contains(&"syntax::foreign"), "{line}: {codes:?}");
    }
}

#[test]
fn what_would_mean_something_else_is_refused_without_it_too() {
    assert_eq!(codes("let v = ld [x]; assert!(v == 1);"), ["syntax::foreign"]);
    assert_eq!(codes("// target sm_80\n"), ["syntax::target"]);
}
