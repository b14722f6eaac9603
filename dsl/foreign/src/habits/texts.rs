//! What habits of C++ and PTX look like.

use super::Habits;

/// What stands between kernels, and what should.
pub const ITEMS: Habits = &[
    (
        "launch k(*",
        "a value of a parameter is chosen where the kernel is launched: in a `program`, `launch k(2) on s;`",
    ),
    ("launch <<<*", "`launch { ctas: 2, warps: 2 }`, inside of the kernel; in a `program`, `launch k on s;`"),
    ("launch {*;*}*", "entries of a launch are separated by commas: `launch { ctas: 2, warps: 2 }`"),
    ("launch {*=*", "an entry of a launch has a colon: `launch { ctas: 2 }`"),
    ("launch (*", "`launch { ctas: 2, warps: 2 }`, inside of the kernel"),
    ("kernel \"*", "the name of a kernel is a word without quotes: `kernel k { … }`"),
    ("kernel @-*", "a name is of letters, digits and `_`: `kernel {1}_1 { … }`"),
    (
        "kernel @<*",
        "a parameter is a range of values, which are all checked: `kernel {1}(N in 0..=3) { … }`; one value is a `const`",
    ),
    (
        "kernel @(@ = *)*",
        "a parameter is a range of values, which are all checked: `kernel {1}({2} in 0..={3}) { … }`; one value is `const {2} = {3};` before it",
    ),
    (
        "kernel @(@:*)*",
        "a parameter is a range of values, which are all checked: `kernel {1}({2} in 0..=3) { … }`; memory is declared inside of the kernel: `global {2}: u32 = 0;`",
    ),
    (
        "constant @: * = *;",
        "a constant is `const {1} = {3};` before the kernel; `constant` is another way to an object: `constant c: u32 alias x;`",
    ),
    (
        "global @: atomic*",
        "`global {1}: u32 = 0;`: any word can be accessed atomically, and each access says whether it is",
    ),
    (
        "global @: Atomic*",
        "`global {1}: u32 = 0;`: any word can be accessed atomically, and each access says whether it is",
    ),
    ("global @: [*;*]*", "the size stands behind the name: `global {1}[{3}]: {2} = 0;`"),
    ("global @: @[*]*", "the size stands behind the name: `global {1}[{3}]: {2} = 0;`"),
    ("global @: volatile*", "the access is what is volatile: `global {1}: u32 = 0;` and `ld.volatile [{1}]`"),
    ("global @: \\**", "there are no pointers: memory is declared by name, `global {1}: u32 = 0;`"),
    ("global @ = *;", "memory has a type: `global {1}: u32 = {2};`"),
];

/// What stands between kernels like a statement.
pub const OUTSIDE: Habits = &[
    (
        "let @ = *;",
        "outside of kernels a constant is `const {1} = {2};`, and memory `global {1}: u32 = {2};`",
    ),
    (
        "var @ = *;",
        "outside of kernels a constant is `const {1} = {2};`, and memory `global {1}: u32 = {2};`",
    ),
    ("@ = *;", "outside of kernels a constant is `const {1} = {2};`, and memory `global {1}: u32 = {2};`"),
    ("static @: @ = *;", "`const {1} = {3};`, or memory: `global {1}: {2} = {3};`"),
];

/// Expressions and conditions.
pub const VALUES: Habits = &[
    ("while (1)*", "an endless loop is `loop { … }`, which `break;` leaves"),
    ("while 1*", "an endless loop is `loop { … }`, which `break;` leaves"),
    ("while true:*", "an endless loop is `loop { … }`, which `break;` leaves"),
    ("*===*", "equality is `==`"),
    ("*<>*", "inequality is `!=`"),
    ("if (!@)*", "a condition compares: `if {1} == 0 { … }`"),
    ("if !@ {*", "a condition compares: `if {1} == 0 { … }`"),
    ("while (!@) {*", "a condition compares: `while {1} == 0 { … }`"),
    ("if (@)*", "a condition compares: `if {1} != 0 { … }`"),
    ("if @ {*", "a condition compares: `if {1} != 0 { … }`"),
    ("if @ < @ < @ *", "two comparisons are joined by `&&`: `if {1} < {2} && {2} < {3} { … }`"),
    ("let @ = {*", "several elements are an object: `global {1}[2]: u32 = 0;`, `shared {1}[2]: u32;`"),
    (
        "let @ = [*];",
        "a list is an array in memory: `shared {1}[2]: u32;`, or `global {1}[2]: u32 = { 0, 1 };`; a value that is read is `ld [x]`",
    ),
    ("*\\*\\**", "there is no power: `1 << 3` for one of two, or multiply"),
    ("let @ = @ // @;", "division is `/`, and always whole: `//` begins a comment"),
    ("let @ = * >>> *", "`>>`: values have no sign, so it fills with zeros"),
    ("*??*", "`c ? a : b`: a value is always there"),
    ("let @ = `*", "values are numbers: `1`, `0xff`"),
    ("let @ = ~.x *;", "this register has no axes: `{2}`"),
    ("let @ = 0b*", "numbers are decimal or hexadecimal: `0x5`"),
    ("let @ = @e@;", "floating-point values are their bits: `0x447a0000` is 1000.0"),
    ("let @ = u32(*);", "a conversion stands behind: `{2} as u32`"),
    ("let @ = u64(*);", "a conversion stands behind: `{2} as u64`"),
    ("let @ = int(*);", "values have no sign; a conversion stands behind: `{2} as u32`"),
    ("let @ = abs(*);", "values have no sign, so there is nothing to take away"),
    ("let @ = pow(*);", "there is no power: `1 << 3` for one of two, or multiply"),
    ("let @ = @.into();", "a conversion stands behind: `{2} as u64`"),
    ("let @ = @ as usize;", "write `{2} as u32`: types of values are `u8`, `u16`, `u32` and `u64`"),
    ("let @ = (@, *);", "a name has one value: `let a = {2};` `let b = {3};`"),
    ("let @ = \\*@;", "memory is read by an instruction: `let {1} = ld [{2}];`"),
    ("\\*@ = *", "memory is written by an instruction: `st [{1}], {2}`"),
    ("let @: &* = &@;", "references are parameters of functions only: use `{3}` itself, `ld [{3}]`"),
    ("let @ = &mut @;", "references are parameters of functions only: use `{2}` itself, `st [{2}], 1;`"),
    ("let @ = &@;", "references are parameters of functions only: use `{2}` itself, `ld [{2}]`"),
];

/// Instructions as they are half remembered.
pub const INSTRUCTIONS: Habits = &[
    ("await ld*[*];", "an `await` says what it waits for: `await ld{1} [{2}] != 0;`, or `== 1`"),
    ("await {*};", "`await` has no braces: `await {1};`"),
    ("await (*) {*", "`await` has no body: `await {1};`"),
    ("@ until *", "a wait is `await` and what must be true to go on: `await ld.acquire.gpu [x] == 1;`"),
    ("until * {*", "a wait is `await` and what must be true to go on: `await {1};`"),
    ("spin {*}", "a wait is `await` and what must be true to go on: `await {1};`"),
    ("spin *;", "a wait is `await` and what must be true to go on: `await {1};`"),
    (
        "*ld.seq_cst*",
        "a load is not sequentially consistent by itself: `fence.sc.gpu;` and then `ld.acquire.gpu [x]`",
    ),
    (
        "*ld.sc*",
        "a load is not sequentially consistent by itself: `fence.sc.gpu;` and then `ld.acquire.gpu [x]`",
    ),
    (
        "*st.seq_cst*",
        "a store is not sequentially consistent by itself: `fence.sc.gpu;` and then `st.relaxed.gpu [x], 1;`",
    ),
    (
        "*st.sc*",
        "a store is not sequentially consistent by itself: `fence.sc.gpu;` and then `st.relaxed.gpu [x], 1;`",
    ),
    (
        "*atom*.seq_cst*",
        "an atomic is not sequentially consistent by itself: `fence.sc.gpu;` and then `atom.acquire.gpu.add [x], 1`",
    ),
    (
        "*atom*.sc.*",
        "an atomic is not sequentially consistent by itself: `fence.sc.gpu;` and then `atom.acquire.gpu.add [x], 1`",
    ),
    ("barrier.sync.cta*", "the scope stands in front: `barrier.cta.sync {1}`"),
    ("barrier.arrive.cta*", "the scope stands in front: `barrier.cta.arrive {1}`"),
    (
        "bar.sync [*",
        "a barrier of a CTA is a number: `bar.sync 0;`; for an mbarrier `await mbarrier.try_wait.parity [{1}",
    ),
    (
        "bar.sync ~;",
        "a barrier of a CTA is a number: `bar.sync 0;`; for an mbarrier `await mbarrier.try_wait.parity [{1}], 0;`",
    ),
    ("*atom*.fetch_sub*", "there is no `sub`: `atom.add [x], -1` subtracts, since numbers wrap around"),
    ("*atom*.sub*", "there is no `sub`: `atom.add [x], -1` subtracts, since numbers wrap around"),
    ("red*.sub*", "there is no `sub`: `red.add [x], -1;` subtracts, since numbers wrap around"),
    ("*atom*.fetch_@*", "an atomic gives the old value anyway: `atom.{3}`"),
    ("*atom*.exchange*", "write `atom.exch [x], 1`"),
    (
        "*atom*.compare_exchange*",
        "write `atom.cas [x], 0, 1`: what it finds, and what it writes if that is 0",
    ),
    (
        "*atom*.compare_and_swap*",
        "write `atom.cas [x], 0, 1`: what it finds, and what it writes if that is 0",
    ),
    ("*atom*.swap*", "write `atom.exch [x], 1`"),
    ("*atom*.xchg*", "write `atom.exch [x], 1`"),
    (
        "*atom*.load*",
        "a load that cannot tear is `ld.relaxed.gpu [x]`, one that synchronizes `ld.acquire.gpu [x]`",
    ),
    (
        "*atom*.store*",
        "a store that cannot tear is `st.relaxed.gpu [x], 1;`, one that synchronizes `st.release.gpu [x], 1;`",
    ),
    ("*atom*.add_@ *", "the parts of an opcode are separated by dots: `atom.add.{3} {4}`"),
    (
        "cp.async.bulk.wait_all*",
        "`cp.async.bulk.wait_group 0;` waits for all groups of bulk copies; those with an mbarrier end there",
    ),
    (
        "cp.async.bulk*complete_tx*[*],*[*],*[*],*;",
        "the order of operands is destination, source, size, mbarrier: `[{3}], [{5}], {8}, [{7}]`",
    ),
    (
        "mbarrier.try_wait* _,*",
        "to wait for it, `await mbarrier.try_wait{1} {2}`; for its answer, `let ok = mbarrier.try_wait{1} {2}`",
    ),
    (
        "mbarrier.test_wait* _,*",
        "to wait for it, `await mbarrier.test_wait{1} {2}`; for its answer, `let ok = mbarrier.test_wait{1} {2}`",
    ),
    ("f([*]);", "an object is handed to a function by name: `f({1});` or `f(&{1});`"),
    ("@([*]);", "an object is handed to a function by name: `{1}({2});` or `{1}(&{2});`"),
    ("@(&mut @);", "an object is handed to a function by name: `{1}({2});` or `{1}(&{2});`"),
    ("fence();", "a fence says its order and scope: `fence.acq_rel.gpu;`, `fence.sc.gpu;`"),
    ("barrier();", "the barrier of a CTA is `bar.sync 0;`"),
    ("barrier;", "the barrier of a CTA is `bar.sync 0;`"),
    ("syncthreads*", "the barrier of a CTA is `bar.sync 0;`"),
    ("let @ = load(*);", "memory is read by an instruction: `let {1} = ld [{2}];`"),
    ("let @ = ld(*);", "an instruction has no parentheses: `let {1} = ld [{2}];`"),
    ("store(@, *);", "memory is written by an instruction: `st [{1}], {2};`"),
    ("st(@, *);", "an instruction has no parentheses: `st [{1}], {2};`"),
    ("atomic_add(@, *);", "`red.add [{1}], {2};`, or `let old = atom.add [{1}], {2};` for what it finds"),
];

/// Lines of compiled PTX.
pub const PTX: Habits = &[
    (
        ".reg*",
        "take it out: values are declared where they are made, `let v = ld [x];`, `var v: u32 = 0;` if they change",
    ),
    (".shared*bar*", "`shared bar: mbarrier;`, and one thread runs `mbarrier.init [bar], 1;`"),
    (".shared*", "`shared s[4]: u32;`: the name, with its size, then the type"),
    (".global*", "`global x: u32 = 0;`: the name, with its size, then the type"),
    (".local*", "what one thread alone uses is a value: `var v: u32 = 0;`"),
    (
        ".param*",
        "parameters of a kernel are ranges of values, `kernel k(N in 0..=3) { … }`; memory is declared by name",
    ),
    (
        ".visible*",
        "`kernel k { … }`, with its memory declared inside; a whole module is read by `import \"k.ptx\" entry NAME as k { … }`",
    ),
    (
        ".entry*",
        "`kernel k { … }`, with its memory declared inside; a whole module is read by `import \"k.ptx\" entry NAME as k { … }`",
    ),
    (".func*", "`fn f(a: &u32, n: u32) { … }`"),
    (".version*", "the version stands in the header of the file: `//! target sm_90 ptx 8.0`"),
    (".target*", "the architecture stands in the header of the file: `//! target sm_90 ptx 8.0`"),
    (".address_size*", "take it out: memory is declared by name, and has no address"),
    ("$*:", "`loop`, `while`, `if` and `break`: there are no labels"),
    ("*%lanemask_*", "which lanes there are is known: compare `laneid`, `laneid < 4`"),
    ("*lanemask_@*", "which lanes there are is known: compare `laneid`, `laneid < 4`"),
    (
        "*ldmatrix.*",
        "it reads a matrix from shared memory, for the thread that runs it a weak load: `let v = ld [s[0]];` of each row that it reads",
    ),
    (
        "*stmatrix.*",
        "it writes a matrix to shared memory, for the thread that runs it a weak store: `st [s[0]], 1;` of each row that it writes",
    ),
    (
        "*mma.sync*",
        "it computes on registers and touches no memory: leave it out; what feeds it is `ld [s[0]]`, what it gives any value",
    ),
    ("isspacep*", "there are no addresses: in which space an object is its declaration says"),
    ("call (*", "a function of the file is called by name: `let r = f(1);`"),
    ("call *", "a function of the file is called by name: `let r = f(1);`"),
    ("brx.idx*", "`if … { } else if … { } else { }`: there are no labels"),
    ("trap;", "what must not happen is `assert`, with what must hold: `assert v == 1;`"),
    ("brkpt;", "take it out: a violated launch shows each step of an execution"),
];
