use fencepost::{Options, Source, Verdict, assert_proved, check};

#[test]
fn the_message_arrives() {
    assert_proved!("kernels/mp.fence");
}

#[test]
fn its_flag_needs_a_release() {
    let text = include_str!("../kernels/mp.fence").replace("st.release", "st.relaxed");
    let report = check(Source::text("mp.fence", text), &Options::default()).unwrap();
    assert_eq!(report.verdict(), Verdict::Violated);
    for finding in report.findings() {
        println!("{}: {} {:?}", finding.code, finding.message, finding.edits);
    }
}
