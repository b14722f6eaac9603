// Written by `BLESS=1 cargo test -p fencepost-dsl --test editors`.
window.fenceGrammar = {
  "name": "fence",
  "scopeName": "source.fence",
  "fileTypes": ["fence"],
  "patterns": [
    { "name": "comment.block.fence", "begin": "/\\*", "end": "\\*/" },
    { "name": "comment.line.documentation.fence", "match": "//[/!].*$" },
    { "name": "comment.line.double-slash.fence", "match": "//.*$" },
    { "name": "string.quoted.double.fence", "match": "\"[^\"]*\"" },
    { "name": "keyword.operator.word.opcode.fence", "match": "\\b(?:ATOM|BAR|CCTL|CCTLT|LD|MEMBAR|RED|ST|TLD|activemask|applypriority|atom|bar|barrier|clusterlaunchcontrol|cp|createpolicy|elect|fence|getctarank|griddepcontrol|ld|match|mbarrier|membar|mov|multimem|nanosleep|pmevent|prefetch|prefetchu|red|redux|setmaxnreg|shfl|st|suld|sured|sust|tcgen05|tensormap|tex|vote|wgmma)(?:(?:\\.[A-Za-z0-9_]+(?:::[A-Za-z0-9_]+)*)+|(?=\\s*\\[))" },
    { "name": "storage.type.fence", "match": "\\b(?:alias|client|const|constant|final|fn|global|import|kernel|launch|let|multimem|of|param|program|register|shared|surface|symmetric|texture|tmem|use|var|view)\\b" },
    { "name": "keyword.control.fence", "match": "\\b(?:as|assert|assume|await|break|else|exit|for|if|in|loop|reachable|return|while)\\b" },
    { "name": "variable.language.fence", "match": "\\b(?:clusterid|cluster_ctarank|cluster_nctarank|ctaid|gpuid|laneid|nctaid|nclusterid|ngpuid|ntid|nwarpid|tid|warpid)\\b(?:\\.[xyz]\\b)?" },
    { "name": "support.type.fence", "match": "\\b(?:b128|mbarrier|tensormap|u16|u32|u64|u8)\\b" },
    { "name": "constant.language.fence", "match": "\\b(?:true|false)\\b" },
    { "name": "constant.numeric.fence", "match": "\\b[0-9][A-Za-z0-9_]*\\b" },
    { "name": "entity.name.function.fence", "match": "\\b[A-Za-z_][A-Za-z0-9_]*(?=\\()" }
  ]
};
