//! Verdicts of restricted fences (FN-7 … FN-9, FN-18, FN-27): what each covers, and what next to it it does not.
//!
//! Two CTAs of one cluster; each row says what the first does and what the second does once it has seen the signal, and
//! whether `race` or an initialisation that is not ordered is found.

use fencepost::encode::Treatment;
use fencepost::verdict::{Property, Verdict};
use fencepost_tests::run::{config, model, outcomes, verdict};

/// Releases of the own CTA's shared memory (FN-8).
const RELEASE: &str = "fence.release.sync_restrict::shared::cta.cluster;";
/// Acquires for the cluster's shared memory (FN-7).
const ACQUIRE: &str = "fence.acquire.sync_restrict::shared::cluster.cluster;";
/// Both, without restriction.
const FULL: &str = "fence.acq_rel.cluster;";
/// Of initialisations only (FN-9).
const INIT: &str = "fence.mbarrier_init.release.cluster;";
const SIGNAL: &str = "st.relaxed.cluster [f], 1;";
const WAIT: &str = "await ld.relaxed.cluster [f] == 1;";

/// The verdict on `property` of a kernel in which CTA `i` runs the `i`-th text.
fn found(launch: &str, property: Property, threads: &[&str], treatment: Treatment) -> Verdict {
    let mut text = format!(
        "kernel k {{\n  launch {{ {launch} }}\n  shared own: u32 = 0;\n  shared bar: mbarrier;\n  global far: u32 = 0;\n  \
         global far2: u32 alias far;\n  global f: u32 = 0;\n  global g: u32 = 0;\n"
    );
    for (index, thread) in threads.iter().enumerate() {
        text += &format!("  if ctaid == {index} {{ {thread} }}\n");
    }
    text += "}\n";
    let found = outcomes(&text, &model(&[]), &config(treatment));
    verdict(&found[0], property)
}

fn expect(name: &str, launch: &str, property: Property, threads: &[&str], wanted: Verdict) {
    for (treatment_name, treatment) in
        std::iter::once(&("default", Treatment::DEFAULT)).chain(Treatment::ONE_OFF)
    {
        let got = found(launch, property, threads, *treatment);
        assert_eq!(got, wanted, "{name}, treatment {treatment_name}");
    }
}

/// Message passing of one access with the given fences.
fn passes(name: &str, store: &str, release: &str, acquire: &str, load: &str, wanted: Verdict) {
    let first = format!("{store} {release} {SIGNAL}");
    let second = format!("{WAIT} {acquire} {load}");
    expect(name, "ctas: 2, cluster: 2", Property::Race, &[&first, &second], wanted);
}

const OWN: [&str; 2] = ["st [own], 1;", "let v = ld.shared::cluster.u32 [mapa(own, 0)];"];
const PEER: [&str; 2] = ["st.shared::cluster.u32 [mapa(own, 1)], 1;", "let v = ld [own];"];
const FAR: [&str; 2] = ["st [far], 1;", "let v = ld [far];"];

#[test]
fn each_side_covers_its_own_space() {
    use Verdict::{Proved, Violated};
    let rows = [
        ("own, both restricted", OWN, RELEASE, ACQUIRE, Proved),
        ("own, release restricted", OWN, RELEASE, FULL, Proved),
        ("own, acquire restricted", OWN, FULL, ACQUIRE, Proved),
        ("peer, both restricted", PEER, RELEASE, ACQUIRE, Violated),
        ("peer, release restricted", PEER, RELEASE, FULL, Violated),
        ("peer, acquire restricted", PEER, FULL, ACQUIRE, Proved),
        ("global, release restricted", FAR, RELEASE, FULL, Violated),
        ("global, acquire restricted", FAR, FULL, ACQUIRE, Violated),
        ("global, no restriction", FAR, FULL, FULL, Proved),
        ("own, init fence", OWN, INIT, FULL, Violated),
        ("own, wrong halves", OWN, ACQUIRE, RELEASE, Violated),
        ("own, no acquire", OWN, RELEASE, "", Violated),
        ("own, no release", OWN, "", ACQUIRE, Violated),
    ];
    for (name, [store, load], release, acquire, wanted) in rows {
        passes(name, store, release, acquire, load, wanted);
    }
}

#[test]
fn the_order_of_fence_and_signal_counts() {
    let late = format!("st [own], 1; {SIGNAL} {RELEASE}");
    let reads = format!("{WAIT} {ACQUIRE} {}", OWN[1]);
    expect(
        "release after the signal",
        "ctas: 2, cluster: 2",
        Property::Race,
        &[&late, &reads],
        Verdict::Violated,
    );
    let early = format!("{ACQUIRE} {WAIT} {}", OWN[1]);
    let writes = format!("st [own], 1; {RELEASE} {SIGNAL}");
    expect(
        "acquire before the wait",
        "ctas: 2, cluster: 2",
        Property::Race,
        &[&writes, &early],
        Verdict::Violated,
    );
}

#[test]
fn the_scope_is_the_cluster() {
    // The second CTA is in another cluster; a cluster's fence does not reach it, nor does its shared memory.
    let first = "st [far], 1; fence.release.sync_restrict::shared::cta.cluster; st.relaxed.gpu [f], 1;";
    let second = "await ld.relaxed.gpu [f] == 1; fence.acq_rel.gpu; let v = ld [far];";
    expect(
        "another cluster",
        "ctas: 2, cooperative: true",
        Property::Race,
        &[first, second],
        Verdict::Violated,
    );
}

#[test]
fn restricted_fences_are_cumulative() {
    // CTA 1 writes into CTA 0, which passes it on to CTA 2; CTA 1 itself could not have.
    let first = format!("{WAIT} {FULL} {RELEASE} st.relaxed.cluster [g], 1;");
    let second = format!("st.shared::cluster.u32 [mapa(own, 0)], 1; {FULL} {SIGNAL}");
    let third = format!(
        "await ld.relaxed.cluster [g] == 1; {ACQUIRE} let v = ld.shared::cluster.u32 [mapa(own, 0)];"
    );
    expect(
        "passed on by the owner",
        "ctas: 3, cluster: 3",
        Property::Race,
        &[&first, &second, &third],
        Verdict::Proved,
    );
    // Two releases of different CTAs on one way: nothing is in the windows of both.
    let restricted = format!("st.shared::cluster.u32 [mapa(own, 0)], 1; {RELEASE} {SIGNAL}");
    expect(
        "two windows",
        "ctas: 3, cluster: 3",
        Property::Race,
        &[&first, &restricted, &third],
        Verdict::Violated,
    );
}

#[test]
fn the_init_fence_is_about_the_own_initialisations() {
    let operation = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [mapa(bar, 0)];";
    let waits = "await mbarrier.try_wait.parity [bar], 0;";
    let seen = format!("{WAIT} {FULL} {operation}");
    for (name, fence, wanted) in [
        ("init fence", INIT, Verdict::Proved),
        ("restricted release", RELEASE, Verdict::Proved),
        ("restricted acquire", ACQUIRE, Verdict::Violated),
        ("no fence", "", Verdict::Violated),
    ] {
        let first = format!("mbarrier.init [bar], 1; {fence} {SIGNAL} {waits}");
        expect(name, "ctas: 2, cluster: 2", Property::Barrier, &[&first, &seen], wanted);
    }
    // One lane initialises, the other has the fence: not its own initialisation.
    let first = format!(
        "if laneid == 0 {{ mbarrier.init [bar], 1; }} bar.warp.sync 3; if laneid == 1 {{ @ {SIGNAL} }} {waits}"
    );
    let second = format!("{WAIT} {FULL} if laneid == 0 {{ {operation} }}");
    for (fence, wanted) in [(INIT, Verdict::Violated), (RELEASE, Verdict::Proved), (FULL, Verdict::Proved)] {
        let first = first.replace('@', fence);
        expect(
            "another lane's",
            "ctas: 2, cluster: 2, lanes: 2",
            Property::Barrier,
            &[&first, &second],
            wanted,
        );
    }
}

#[test]
fn alias_halves_order_other_addresses_only() {
    let (release, acquire) = ("fence.proxy.alias.release.sys;", "fence.proxy.alias.acquire.sys;");
    let other = ["st [far], 1;", "let v = ld [far2];"];
    passes("both halves", other[0], release, acquire, other[1], Verdict::Proved);
    passes("no acquire half", other[0], release, FULL, other[1], Verdict::Violated);
    passes("no release half", other[0], FULL, acquire, other[1], Verdict::Violated);
    passes("one address", FAR[0], release, acquire, FAR[1], Verdict::Violated);
    let alone = format!("st [far], 1; {release} {acquire} st [far2], 2;");
    expect("one thread", "ctas: 2, cluster: 2", Property::Race, &[&alone, ""], Verdict::Proved);
    let reversed = format!("st [far], 1; {acquire} {release} st [far2], 2;");
    expect(
        "one thread, acquire first",
        "ctas: 2, cluster: 2",
        Property::Race,
        &[&reversed, ""],
        Verdict::Violated,
    );
}

#[test]
fn async_proxy_fences_do_nothing_to_generic_accesses() {
    for fence in [
        "fence.proxy.async;",
        "fence.proxy.async.shared::cta;",
        "membar.proxy.async;",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
    ] {
        passes(fence, OWN[0], fence, FULL, OWN[1], Verdict::Violated);
        passes(fence, OWN[0], &format!("{FULL} {fence}"), FULL, OWN[1], Verdict::Proved);
    }
}
