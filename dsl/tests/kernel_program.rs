//! Good programs: what they resolve to.

use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::dump::dump;
use fencepost_dsl::kernel::program::{AccessOp, InitialBytes, InstructionKind, Program, StatementKind};
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::vocabulary::Proxy;

fn program(text: &str) -> Program {
    let mut sources = SourceMap::default();
    load(&mut sources, "test.fence", &mut |_| Ok(text.to_owned()), &LoadOptions::default())
        .unwrap_or_else(|errors| panic!("{text}\n{errors:#?}"))
}

const LOCK: &str = "const N = 2;
fn lock(l: &u32) { await (atom.cas.acquire.gpu.b32 [l], 0, 1) == 0; }
fn unlock(l: &u32) { st.release.gpu.u32 [l], 0; }
kernel k(TILES in 0..=3) {
    launch { ctas: 2, cluster: 2, warps: 2, lanes: 1 }
    launch big { ctas: 4, cluster: 2, warps: 1, lanes: 2 }
    global lk: u32 = 0;  global x: u32 = 0;  shared s[N]: u32;
    if tid == 0 { lock(&lk); let v = ld.weak.global.u32 [x]; st [x], v + 1; unlock(&lk); }
    bar.sync 0;
    for i in 0..TILES { st.shared [s[i % N]], i; bar.sync 0; }
    final { assert [x] == 2; }
}
";

#[test]
fn a_lock_resolves() {
    let program = program(LOCK);
    let kernel = &program.kernels[0];
    assert_eq!((kernel.launches.len(), kernel.objects.len(), kernel.storages.len()), (2, 3, 3));
    assert_eq!((kernel.parameters[0].min, kernel.parameters[0].max), (0, 3));
    let expected = "fn lock(l: &32)
  await loop 0 Equal(%0, 0:32)
  prelude:
    %0 = atom.acquire.gpu.cas.b32 [l], 0:32, 1:32
fn unlock(l: &32)
  st.release.gpu.u32 [l], 0:32
kernel k
  parameter TILES in 0..=3
  launch default gpus 1 ctas 2 cluster 2 warps 2 lanes 1
  launch big gpus 1 ctas 4 cluster 2 warps 1 lanes 2
  global lk: 32 storage 0 byte 0 mapping 0
  global x: 32 storage 1 byte 0 mapping 0
  shared s[2]: 32 storage 2 byte 0 mapping 0
  storage 0 4 bytes Known([0, 0, 0, 0])
  storage 1 4 bytes Known([0, 0, 0, 0])
  storage 2 8 bytes Unknown
  if Equal(tid, 0:32)
  then:
    call lock([lk])
    v#1 = ld.weak.global.u32 [x]
    st.weak.global.u32 [x], Add(v#1, 1:32)
    call unlock([lk])
  bar.sync 0:32
  for loop 1 i#2 in 0:32..TILES#0
  do:
    st.weak.shared.u32 [s[Remainder(i#2, 2:32)]], i#2
    bar.sync 0:32
  final Assert Equal(final [x], 2:32)
";
    assert_eq!(dump(&program), expected);
}

#[test]
fn spellings_are_completed() {
    for (body, expected) in [
        ("let v = ld [x];", "ld.weak.global.u32"),
        ("let v = ld.acquire.gpu [x];", "ld.acquire.gpu.global.u32"),
        ("let v = ld.volatile.b32 [x];", "ld.volatile.global.b32"),
        ("let v = ld.mmio.relaxed.sys.global [x];", "ld.mmio.relaxed.sys.global.u32"),
        ("let {p, _} = ld.v2 [a[2]];", "ld.weak.global.v2.u32"),
        ("let v = ld.cg.L2::128B [x];", "ld.weak.global.u32"),
        ("st.shared::cta.u32 [s[0][1]], 1;", "st.weak.shared.u32"),
        ("st.v4.u32 [a[4]], {1, 2, 3, 4};", "st.weak.global.v4.u32"),
        ("st [c[0]], 10;", "st.weak.global.b128"),
        ("let o = atom.add [x], 1;", "atom.relaxed.gpu.global.add.u32"),
        ("atom.add.gpu.u32 _, [x], 1;", "atom.relaxed.gpu.global.add.u32"),
        ("let o = atom.min.s32 [x], 1;", "atom.relaxed.gpu.global.min.s32"),
        ("let o = atom.acq_rel.sys.exch [w], 1;", "atom.acq_rel.sys.global.exch.b64"),
        ("red.release.gpu.inc [x], 1;", "red.release.gpu.global.inc.u32"),
        ("fence.gpu;", "fence.acq_rel.gpu"),
        ("fence.cluster.acq_rel;", "fence.acq_rel.cluster"),
        ("fence.sc.sys;", "fence.sc.sys"),
        ("membar.gl;", "membar.gl"),
        ("fence.proxy.alias;", "fence.proxy.alias"),
        ("membar.proxy.alias;", "membar.proxy.alias"),
        ("let v = tex.1d.u32 [t];", "tex.1d.u32.s32"),
        ("let v = tex.1d.s32.s32 [t];", "tex.1d.s32.s32"),
        ("let v = tex.1d [t];", "tex.1d.u32.s32"),
        ("let v = suld.b.1d.b32.trap [f[3]];", "suld.b.1d.b32"),
        ("sust.b.1d.b32.clamp [f[0]], 1;", "sust.b.1d.b32"),
        ("sured.b.add.1d [f[0]], 1;", "sured.b.add.1d.u32"),
        ("sured.b.and.1d.b32.zero [f[0]], 1;", "sured.b.and.1d.b32"),
        ("sured.b.min.1d.s32 [f[0]], 1;", "sured.b.min.1d.s32"),
        ("let v = ld.const.u32 [k2];", "ld.weak.const.u32"),
        ("let v = ld [k2];", "ld.weak.const.u32"),
        ("let {v, w2} = ld.const.v2.u32 [k8[2]];", "ld.weak.const.v2.u32"),
        ("bar.cta.sync 1, 64;", "bar.sync"),
        ("bar.arrive 1, 64;", "bar.arrive"),
        ("barrier.sync.aligned 1;", "barrier.sync.aligned"),
        ("let p = bar.red.popc.u32 0, tid == 1;", "bar.red.popc.u32"),
        ("let p = barrier.red.and.pred 0, 64, !(tid == 1);", "barrier.red.and.pred"),
        ("bar.warp.sync 0xffff_ffff;", "bar.warp.sync"),
    ] {
        let program = program(&format!(
            "kernel k {{ global x: u32; global a[8]: u32; global w: u64; global c[4]: b128; shared s[2][4]: u32; texture t: u32 alias x; surface f[8]: u32 alias a; constant k2: u32 alias x; constant k8[8]: u32 alias a; {body} }}"
        ));
        let StatementKind::Instruction(instruction) = &program.kernels[0].body[0].kind else {
            panic!("{body}")
        };
        assert_eq!(instruction.text, expected, "{body}");
    }
}

#[test]
fn reads_are_pulled_out_in_order() {
    let program = program(
        "fn get(p: &u32, n: u32) -> u32 { let v = ld [p]; return v + n; }
kernel k { global x: u32; global y: u32;
  let r = get(&x, 1) + ld [y] * 2;
  if ld.relaxed.gpu [x] == 1 && ld.relaxed.gpu [y] == 2 { exit; }
  while ld.relaxed.gpu [x] != 0 { }
  var t = tid == 0 ? ld [x] : 5;
  t += 1;
}",
    );
    let text = dump(&program);
    let body = &text[text.find("kernel").expect("a kernel")..];
    let expected = "  %0: 32 = call get([x], 1:32)
  %1 = ld.weak.global.u32 [y]
  r#2: 32 = Add(%0, Multiply(%1, 2:32))
  %2 = ld.relaxed.gpu.global.u32 [x]
  %4: 1 = Equal(%2, 1:32)
  if %4
  then:
    %3 = ld.relaxed.gpu.global.u32 [y]
    %4: 1 = Equal(%3, 2:32)
  if %4
  then:
    exit
  while loop 0 NotEqual(%5, 0:32)
  prelude:
    %5 = ld.relaxed.gpu.global.u32 [x]
  if Equal(tid, 0:32)
  then:
    %6 = ld.weak.global.u32 [x]
    %7: 32 = %6
  else:
    %7: 32 = 5:32
  t#9: 32 = %7
  t#9: 32 = Add(t#9, 1:32)
";
    assert!(body.ends_with(expected), "{body}");
}

#[test]
fn widths_of_constants_follow_their_surroundings() {
    let program = program(
        "const BIG = 1 << 40;
kernel k { global w: u64; global h: u16; global c: b128 = 3;
  let a = ld [w]; let b = a + 1; let d = BIG; let e = (a as u16) + 0xffff; let f = 1 << tid;
  let g: u64 = 1 << tid; let v = ld [c]; assert v == 10 + tid; st [h], 7; let m = ~0; let q = 3u8;
}",
    );
    let kernel = &program.kernels[0];
    let width =
        |name: &str| kernel.registers.iter().find(|register| register.name == name).expect("declared").width;
    let widths: Vec<u8> = ["a", "b", "d", "e", "f", "g", "v", "m", "q"].into_iter().map(width).collect();
    assert_eq!(widths, [64, 64, 64, 16, 32, 64, 128, 32, 8]);
}

#[test]
fn views_and_aliases_share_bytes() {
    let program = program(
        "kernel k { global x: u64 = 0x1122334455667788; view lo: u32 of x; view h[2]: u16 of x + 4; global y: u64 alias x;
  global z: u64 alias x; view yl: u32 of y + 4; shared m[2][2]: u16 = { {1, 2}, {3, 4} }; global f[3]: u8 = 9; }",
    );
    let kernel = &program.kernels[0];
    let rows: Vec<_> =
        kernel.objects.iter().map(|o| (o.storage.0, o.offset_bytes, o.mapping, o.width)).collect();
    let shared = [(0, 0, 0, 64), (0, 0, 0, 32), (0, 4, 0, 16), (0, 0, 1, 64), (0, 0, 2, 64), (0, 4, 1, 32)];
    assert_eq!(rows[..6], shared);
    let known: Vec<_> = kernel.storages.iter().map(|storage| storage.initial.clone()).collect();
    assert_eq!(known[0], InitialBytes::Known(vec![0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]));
    assert_eq!(known[1], InitialBytes::Known(vec![1, 0, 2, 0, 3, 0, 4, 0]));
    assert_eq!(known[2], InitialBytes::Known(vec![9, 9, 9]));
}

#[test]
fn a_sink_leaves_no_destination() {
    let program =
        program("kernel k { global x: u32; let _ = atom.add [x], 1; atom.exch _, [x], 1; let _ = ld [x]; }");
    for (position, statement) in program.kernels[0].body.iter().enumerate() {
        let StatementKind::Instruction(instruction) = &statement.kind else { panic!("{position}") };
        match &instruction.kind {
            InstructionKind::Access(AccessOp::Atomic { destination, .. }) => assert_eq!(*destination, None),
            InstructionKind::Access(AccessOp::Load { destinations, .. }) => assert_eq!(*destinations, [None]),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(program.kernels[0].body.len(), 3);
    assert_eq!(program.kernels[0].launches[0].name, "default");
}

#[test]
fn views_through_another_proxy_keep_the_address() {
    let program = program(
        "kernel k { global x[2]: u32; global y[2]: u32 alias x; surface s[2]: u32 alias y; texture t[2]: u32 alias x;
         view h: u16 of s + 2; }",
    );
    let objects: Vec<(&str, Proxy, u32, u32)> = program.kernels[0]
        .objects
        .iter()
        .map(|object| (object.name.as_str(), object.proxy, object.mapping, object.offset_bytes))
        .collect();
    assert_eq!(
        objects,
        [
            ("x", Proxy::Generic, 0, 0),
            ("y", Proxy::Generic, 1, 0),
            ("s", Proxy::Surface, 1, 0),
            ("t", Proxy::Texture, 0, 0),
            ("h", Proxy::Surface, 1, 2),
        ]
    );
}

#[test]
fn the_formal_model_has_more_proxy_fences() {
    let text = "//! target sm_70 ptx 7.5 formal
kernel k { fence.proxy.texture; fence.proxy.surface; fence.proxy.constant; fence.proxy.generic; membar.proxy.surface; }";
    let program = program(text);
    let fences: Vec<&str> = program.kernels[0]
        .body
        .iter()
        .map(|statement| match &statement.kind {
            StatementKind::Instruction(instruction) => instruction.text.as_str(),
            _ => "",
        })
        .collect();
    let expected = [
        "fence.proxy.texture",
        "fence.proxy.surface",
        "fence.proxy.constant",
        "fence.proxy.generic",
        "membar.proxy.surface",
    ];
    assert_eq!(fences, expected);
}
