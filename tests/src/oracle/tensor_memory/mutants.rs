//! Mistakes in the model's sections on tensor memory, one clause each: a text of `ptx.cat` and what it becomes. A fixed
//! shape tells every one of them from the model.

/// What is wrong, the text, what it becomes, and the name of a shape that tells it.
pub type Mutant = (&'static str, &'static str, &'static str, &'static str);

/// All of them.
pub const MUTANTS: &[Mutant] = &[
    // What comes after what in time.
    (
        "mbarriers do not order threads",
        "let let-through = po | syncbar | signals",
        "let let-through = po | syncbar",
        "commit, wait, fence",
    ),
    (
        "barriers do not order threads",
        "(((let-through | synchronizes-by(morally-strong)) & if-asked)",
        "(((let-through \\ syncbar) & if-asked)",
        "barrier",
    ),
    (
        "awaited values do not",
        " | issue | completion | (rf & (W * AWAIT)) | syncapi",
        " | issue | completion | syncapi",
        "stored weakly and awaited",
    ),
    (
        "exits do",
        "let happened = (((let-through |",
        "let happened = (((justification |",
        "a barrier that an exit completes, after a wait",
    ),
    ("allocations ask for nothing", "let asked = TMEM | TC-ALLOC", "let asked = TMEM", "kept"),
    (
        "any value read comes first",
        "| acquired-value | (decided",
        "| (seen ; po) | (decided",
        "seen, not waited for",
    ),
    ("acquired values order nothing", "| acquired-value | (decided", "| (decided", "seen and acquired"),
    (
        "decisions do not go on",
        "| acquired-value | (decided ; onward))+",
        "| acquired-value)+",
        "decided, then an arrival",
    ),
    (
        "… to mbarriers",
        "let onward = syncbar | signals | ",
        "let onward = syncbar | ",
        "decided, then an arrival",
    ),
    (
        "… to barriers",
        "let onward = syncbar | signals | ",
        "let onward = signals | ",
        "decided about a barrier",
    ),
    (
        "… to what is awaited",
        "let onward = syncbar | signals | (rf & (W * AWAIT))",
        "let onward = syncbar | signals",
        "decided, then stored weakly and awaited",
    ),
    (
        "values passed on order nothing",
        "(addr | data | ctrl) ; [_ \\ R]",
        "(addr | ctrl) ; [_ \\ R]",
        "passed on",
    ),
    (
        "values that decide order nothing",
        "(addr | data | ctrl) ; [_ \\ R]",
        "(addr | data) ; [_ \\ R]",
        "decided",
    ),
    (
        "one decision at most",
        "(addr | data | ctrl) ; [_ \\ R])+",
        "(addr | data | ctrl) ; [_ \\ R])",
        "passed on twice",
    ),
    (
        "decisions end nothing",
        "let execution-order = happened | decided | (happened ; decided)",
        "let execution-order = happened",
        "passed on and asked",
    ),
    (
        "a decision follows nothing",
        "happened | decided | (happened ; decided)",
        "happened | decided",
        "passed on and asked",
    ),
    (
        "a fence comes before what is read",
        "| (seen ; po) | (execution-order ; seen ; po)",
        "",
        "fence, then asked",
    ),
    // How accesses of tensor memory are ordered.
    (
        "an instruction is in no order",
        "    (po & (tensor * tensor))\n  | ((issue",
        "    ((issue",
        "products of one kind",
    ),
    (
        "nothing is pipelined",
        "  | ((issue^-1 ; started-after) & pipelined & (tensor * tensor))\n",
        "",
        "products of one kind",
    ),
    (
        "all is pipelined",
        "  | ((issue^-1 ; started-after) & pipelined & (t",
        "  | ((issue^-1 ; started-after) & (t",
        "products of two kinds",
    ),
    ("waits order nothing", "  | (waited ; started-after ; [tensor])\n", "", "store, wait, load"),
    ("fences order nothing", "  | (across(left) ; [tensor])\n", "", "commit, wait, fence"),
    (
        "what is pipelined must be over",
        "  | (across([tensor] ; issue^-1 ; po ; [TC-BEFORE]) & pipelined & (tensor * tensor))\n",
        "",
        "copy, product",
    ),
    (
        "nothing must be over",
        "po ; [TC-BEFORE]) & pipelined & (tensor",
        "po ; [TC-BEFORE]) & (tensor",
        "store, both fences, load",
    ),
    (
        "pipelines need no fence before",
        "across([tensor] ; issue^-1 ; po ; [TC-BEFORE])",
        "across([tensor] ; issue^-1 ; po)",
        "copy, product, no fence before",
    ),
    (
        "no fence before is needed",
        "let left = (waited ; ((po ; [TC-BEFORE]) | [SIGNAL]))",
        "let left = (waited ; (po | [SIGNAL]))",
        "no fence before",
    ),
    (
        "a commit needs a fence before",
        "let left = (waited ; ((po ; [TC-BEFORE]) | [SIGNAL]))",
        "let left = (waited ; po ; [TC-BEFORE])",
        "commit, wait, fence",
    ),
    (
        "only a commit is an end",
        "let left = (waited ; ((po ; [TC-BEFORE]) | [SIGNAL]))",
        "let left = (waited ; [SIGNAL])",
        "store, load",
    ),
    (
        "no fence after is needed",
        "fence-order ; [TC-AFTER] ; started-after",
        "fence-order ; started-after",
        "commit, wait",
    ),
    (
        "nothing need lead to the fence",
        "leave ; fence-order ; [TC-AFTER]",
        "leave ; (fence-order | (_ * TC-AFTER)) ; [TC-AFTER]",
        "commit, fence",
    ),
    (
        "order does not go on",
        "let tensor-order = tensor-step+",
        "let tensor-order = tensor-step",
        "store, product, load",
    ),
    ("circular order", "irreflexive tensor-order as tensor-memory-order\n", "", "justified by itself"),
    (
        "tensor memory is in no order",
        "  | ((tensor-order | freed-after) & loc)",
        "  | (freed-after & loc)",
        "products of one kind",
    ),
    (
        "tensor memory is generic",
        "  | ((tensor-order | freed-after) & loc)",
        "  | ((tensor-order | freed-after | base-causality-by(ms)) & loc)",
        "no fence after",
    ),
    // Operands.
    (
        "commits carry nothing",
        "if \"commit-alone\" 0 else",
        "if \"commit-alone\" 0 else 0 &",
        "operand carries",
    ),
    (
        "commits carry over one operand",
        "[tensor-operand])+ ; (order",
        "[tensor-operand]) ; (order",
        "two operands carry",
    ),
    (
        "operands are generic",
        "  | ([generic] ; bc ; fence-before(bc))\n",
        "  | ([generic] ; bc ; [asynchronous])\n",
        "operand written, no fence",
    ),
    // Allocation.
    (
        "freed before the end",
        "waited ; execution-order ; [deallocation]",
        "[tensor] ; issue^-1 ; execution-order ; [deallocation]",
        "freed without a wait",
    ),
    (
        "freed only where used",
        "tensor-order? ; waited ; execution-order ;",
        "tensor-order? ; waited ; po ;",
        "freed after a commit",
    ),
    (
        "freed after each use by itself",
        "tensor-order? ; waited ; execution-order ;",
        "waited ; execution-order ;",
        "freed after a copy and a product of it",
    ),
    (
        "freed at any time",
        "(((TMEM \\ IW) * deallocation) & loc) \\ id) \\ freed-after",
        "(((TMEM \\ IW) * deallocation) & loc) \\ id) & 0",
        "freed without a wait",
    ),
    (
        "freed twice",
        "(((TMEM \\ IW) * deallocation) & loc)",
        "(((TMEM & range(issue)) * deallocation) & loc)",
        "freed twice",
    ),
    (
        "allocated at any time",
        "flag ~empty ((TC-ALLOC * TC-RELINQUISH) & scta) \\ execution-order",
        "flag ~empty ((TC-ALLOC * TC-RELINQUISH) & 0) \\ execution-order",
        "allocated after the permit is gone",
    ),
    (
        "the permit is never given up",
        "((TC-ALLOC * TC-RELINQUISH) & scta) \\ execution-order",
        "((TC-ALLOC * TC-RELINQUISH) & scta)",
        "kept",
    ),
];
