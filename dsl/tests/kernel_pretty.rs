//! The formatter keeps the tree and the comments, and is stable.

use fencepost_dsl::FileId;
use fencepost_dsl::kernel::parse;
use fencepost_dsl::kernel::pretty::pretty;

fn round_trip(text: &str) -> String {
    let (file, errors) = parse(text, FileId(0));
    assert!(errors.is_empty(), "{text}\n{errors:#?}");
    let printed = pretty(&file).expect("no holes");
    let (again, errors) = parse(&printed, FileId(0));
    assert!(errors.is_empty(), "{printed}\n{errors:#?}");
    assert_eq!(file, again, "{printed}");
    assert_eq!(pretty(&again).as_deref(), Some(printed.as_str()));
    printed
}

#[test]
fn layout_is_canonical() {
    let text = "//! target sm_90 ptx 8.0
/* two
   lines */
use \"a.fence\";


const   N=2; // how many
/// Locks.
fn lock(l:&u32,n:u32)->u32{ // head
await (atom.cas.acquire.gpu.b32 [l],0,1)==0; // trailing

// own line
return n; }
kernel k( T in 0..=3 ,M in 1..N ){
launch{ctas:2,cluster:2,warps:2} launch big { }
global a[2][3]:u32={ {1,2,3},{4,5,6} }; global y:u32 alias x; texture  t[2][3]:u32 alias a; surface s:u32 alias x; constant c:u32 alias x; view v[2]:u16 of x+4;
let {p,_}=ld.v2.u32 [a[0][1]]; st.v2.u32 [a[0][0]],{p,1}; atom.add.gpu.u32 _,[x],1;
let z=(1+2)*3-(4-(5-6)) ; var q:u32=-~!c?a:b?1:2; q<<=z as u64 as u8;
if a<b{exit;}else if (a<b)==(c<d){break;}else{loop{break;}}
for i in 0..T{ f(x,&y[i],g[1]); } while ld [x]!=0{}
bar.red.popc.u32 0,(bar.red.popc.u32 1,x); assert x; assume x; reachable x;
// last
final{ assert [a[1][i]]==2&&!([x]==3); reachable [x]==1; } }
// end
";
    let expected = "//! target sm_90 ptx 8.0
/* two
   lines */
use \"a.fence\";

const N = 2;  // how many
/// Locks.
fn lock(l: &u32, n: u32) -> u32 {  // head
    await (atom.cas.acquire.gpu.b32 [l], 0, 1) == 0;  // trailing

    // own line
    return n;
}
kernel k(T in 0..=3, M in 1..N) {
    launch { ctas: 2, cluster: 2, warps: 2 }
    launch big {}
    global a[2][3]: u32 = { { 1, 2, 3 }, { 4, 5, 6 } };
    global y: u32 alias x;
    texture t[2][3]: u32 alias a;
    surface s: u32 alias x;
    constant c: u32 alias x;
    view v[2]: u16 of x + 4;
    let {p, _} = ld.v2.u32 [a[0][1]];
    st.v2.u32 [a[0][0]], {p, 1};
    atom.add.gpu.u32 _, [x], 1;
    let z = (1 + 2) * 3 - (4 - (5 - 6));
    var q: u32 = -~!c ? a : b ? 1 : 2;
    q <<= z as u64 as u8;
    if a < b {
        exit;
    } else if (a < b) == (c < d) {
        break;
    } else {
        loop {
            break;
        }
    }
    for i in 0..T {
        f(x, &y[i], g[1]);
    }
    while ld [x] != 0 {
    }
    bar.red.popc.u32 0, (bar.red.popc.u32 1, x);
    assert x;
    assume x;
    reachable x;
    // last
    final {
        assert [a[1][i]] == 2 && !([x] == 3);
        reachable [x] == 1;
    }
}
// end
";
    assert_eq!(round_trip(text), expected);
}

#[test]
fn comments_in_one_column_stay_in_one() {
    let text = "const N=2;   // how many
const LONGER = 3; // alone

kernel k {
  launch { warps: 2 }     // two
  shared x: u32 = 0;      // the first
  // between
    shared yy: u64 = 0;   // the second
    st [x], 1;  // not with the others

    st [x],   1+2+3+N+LONGER;//grows
    st [x],2;                //less
    st [x], N*(N+1);         //é as wide as one
}
";
    let expected = "const N = 2;  // how many
const LONGER = 3;  // alone

kernel k {
    launch { warps: 2 }   // two
    shared x: u32 = 0;    // the first
    // between
    shared yy: u64 = 0;   // the second
    st [x], 1;  // not with the others

    st [x], 1 + 2 + 3 + N + LONGER;  //grows
    st [x], 2;                       //less
    st [x], N * (N + 1);             //é as wide as one
}
";
    assert_eq!(round_trip(text), expected);
}

#[test]
fn expressions_keep_their_shape() {
    let operators =
        ["||", "&&", "|", "^", "&", "==", "!=", "<", "<=", ">", ">=", "<<", ">>", "+", "-", "*", "/", "%"];
    for left in operators {
        for right in operators {
            round_trip(&format!(
                "kernel k {{ let x = (a {left} b) {right} c; let y = a {left} (b {right} c); }}"
            ));
        }
        round_trip(&format!(
            "kernel k {{ let x = !(a {left} b) as u8; let y = (!a) {left} (b as u8); let z = (c ? a : b) {left} (a ? b : c); }}"
        ));
    }
    round_trip(
        "kernel k { let x = (-a) as u8; let y = (a ? b : c) ? (d ? e : f) : g; let z = ld [x] + (atom.add [x], 1); }",
    );
}

#[test]
fn a_trailing_comment_stays_with_its_statement() {
    let text = "kernel k {
    launch { ctas: 2, cluster: 2 }
    global x: u32 = 0;  // the counter

    st [x], 1;
    st [x], 2;  // the last
}
";
    let (file, errors) = parse(text, FileId(0));
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(pretty(&file).as_deref(), Some(text));
}
