//! PTX that is newer than the language: its editions and architectures are known, and what no row has is said to be PTX all the
//! same.

#[path = "kernel/support.rs"]
#[expect(dead_code, reason = "shared with suites that use more of it")]
mod support;

use support::try_load;

/// A statement, the code of its error, and its message.
const NEWER: &[(&str, &str, &str)] = &[
    (
        "tcgen05.alloc.exclusive.cta_group::1.sync.aligned.b32 [slot], 32;",
        "modifier",
        "`.exclusive` on `tcgen05`",
    ),
    (
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.sync_restrict::shared::read::mma::a.b64 [bar];",
        "modifier",
        "`.sync_restrict::shared::read::mma::a` on `tcgen05`",
    ),
    ("mbarrier.init.layout::v1.shared::cta.b64 [bar], 1;", "modifier", "`.layout::v1` on `mbarrier`"),
    ("mbarrier.pending_count.layout::v1.b64 v;", "modifier", "`.layout::v1` on `mbarrier`"),
    (
        "mbarrier.arrive.multicast::cluster::32b.b64 _, [bar];",
        "modifier",
        "`.multicast::cluster::32b` on `mbarrier`",
    ),
    ("mbarrier.try_wait.phase_type::x.b64 [bar], v;", "modifier", "`.phase_type::x` on `mbarrier`"),
    (
        "cp.async.bulk.wait_group.sync_restrict::proxy::async 0;",
        "modifier",
        "`.sync_restrict::proxy::async` on `cp`",
    ),
    (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster::32b [s], [g], 16, [bar], 3;",
        "modifier",
        "`.multicast::cluster::32b` on `cp`",
    ),
    ("fence.alias.sync_restrict::read.release.sys;", "modifier", "`.alias` on `fence`"),
    ("fence.release.sync_restrict::read.sys;", "modifier", "`.sync_restrict::read` on `fence`"),
    (
        "tensormap.replace.tile.alloc_class.global.b1024.b32 [map], 1;",
        "modifier",
        "`.alloc_class` on `tensormap`",
    ),
    ("tensormap.query.alloc_class_large.b1024 [map];", "modifier", "`.query` on `tensormap`"),
    ("fabric.submit.commit_group;", "instruction", "`fabric.submit.commit_group`"),
    ("fabric.wait.sync_restrict::read 0;", "instruction", "`fabric.wait.sync_restrict::read`"),
    ("txq.width.b32 [g];", "instruction", "`txq.width.b32`"),
    ("movmatrix.sync.aligned.m8n8.trans.b16 v, v;", "instruction", "`movmatrix.sync.aligned.m8n8.trans.b16`"),
    ("clmad.lo.u64 v, v, v;", "instruction", "`clmad.lo.u64`"),
];

fn load(target: &str, body: &str) -> Vec<(&'static str, String)> {
    let source = format!(
        "//! target {target}\nkernel k {{ global g[4]: u32 = 0; global map: tensormap of g[4]; shared s[4]: u32; \
         shared slot: u32; shared bar: mbarrier; var v: u64 = 1; {body} }}"
    );
    let errors = try_load(&source).err().unwrap_or_default();
    errors.into_iter().map(|error| (error.code, error.message)).collect()
}

#[test]
fn what_no_row_has_is_unsupported() {
    for (body, code, what) in NEWER {
        let expected = (format!("unsupported::{code}"), format!("{what} is not checked by this version"));
        let found = load("sm_107a ptx 9.5", body);
        let found: Vec<(String, String)> =
            found.into_iter().map(|(code, message)| (code.to_owned(), message)).collect();
        assert_eq!(found, [expected], "{body}");
    }
}

/// What is in no edition is an error still, and what a row has is not refused.
#[test]
fn what_ptx_does_not_have_is_an_error() {
    for (body, code) in [
        ("mbarrier.init.laid_out.b64 [bar], 1;", "validate::unknown-modifier"),
        ("fence.acq_rel.exclusive.gpu;", "validate::unknown-modifier"),
        ("cp.async.bulk.wait_group.layout 0;", "validate::unknown-modifier"),
        ("shuffle.b32 v;", "resolve::unknown-instruction"),
    ] {
        let found = load("sm_107a ptx 9.5", body);
        assert_eq!(found.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [code], "{body}");
    }
    assert_eq!(load("sm_107a ptx 9.5", "fence.proxy.alias; fence.acq_rel.gpu;"), []);
}

#[test]
fn editions_and_architectures() {
    for target in ["sm_107", "sm_107a", "sm_107f", "sm_90 ptx 9.5", "sm_107f ptx 9.5"] {
        assert_eq!(load(target, ""), [], "{target}");
    }
    for target in ["sm_90 ptx 9.6", "sm_106"] {
        assert_eq!(
            load(target, "").iter().map(|(code, _)| *code).collect::<Vec<_>>(),
            ["syntax::target"],
            "{target}"
        );
    }
}
