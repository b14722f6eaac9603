//! What the page "Check kernels from Rust" of the book shows.

use fencepost::{Options, Property, Report, Source, Style, check};
use std::path::Path;

#[test]
fn each_number_of_stages_is_proved() {
    let text = "const N = 1;
kernel turns {
    launch { ctas: 2, cooperative: true }
    global turn: u32 = 0;
    for i in 0..N {
        await ld.acquire.gpu [turn] == 2 * i + ctaid;
        st.release.gpu [turn], 2 * i + ctaid + 1;
    }
}";
    for n in 1..=3 {
        let options = Options::default().define("N", n).property(Property::Race).property(Property::Deadlock);
        let report = check(Source::text("turns.fence", text), &options).unwrap();
        assert!(report.passes(), "{n} turns each:\n{report}");
    }
}

/// Makes the changes that a report proposes for its first finding, the last one first, so that places stay true.
fn mended(text: &str, report: &Report) -> String {
    let mut text = text.to_owned();
    for edit in report.findings().take(1).flat_map(|finding| finding.edits.iter().rev()) {
        text.replace_range(edit.region.bytes.clone(), &edit.text);
    }
    text
}

#[test]
fn a_proposed_change_is_made() {
    let text = include_str!("../kernels/mp.fence").replace("st.release", "st.relaxed");
    let report = check(text.as_str(), &Options::default()).unwrap();
    let mended = mended(&text, &report);
    assert!(mended.contains("st.release.gpu.global.u32 [flag], 1;"), "{mended}");
}

#[test]
fn a_report_is_written_for_a_code_host() {
    let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/mp.fence");
    let report = check(kernel, &Options::default()).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("fencepost.sarif"), report.to_sarif()).unwrap();
    assert!(report.to_text(Style::PLAIN).contains("1 launch checked: 1 proved"));
}

#[test]
fn what_is_wrong_with_an_input_has_a_place() {
    let error = check("kernel k {\n    fence.acq_rel;\n}", &Options::default()).unwrap_err();
    let problem = &error.problems()[0];
    assert_eq!((problem.code, problem.region.as_ref().unwrap().start.line), ("validate::missing-scope", 2));
}

#[test]
fn tables_come_along() {
    let fences = fencepost::dsl::kernel::isa::families().flat_map(|family| family.forms);
    assert!(fences.filter(|form| form.name.starts_with("fence")).count() > 3);
    let models: Vec<&str> = fencepost::models::names().collect();
    assert_eq!(models, ["ptx", "ptx-7.5", "ptx-6.0", "spa-5.0"]);
    assert!(fencepost::models::text("ptx").unwrap().contains("acyclic"));
}
