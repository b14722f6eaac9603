//! What one side takes and the other does not, by class, with the reason: where the language means to differ, and where an
//! assembler takes what no text has.

use super::{Agreement, Compared, Ours};

/// A class of differences.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// Who takes it.
    pub agreement: Agreement,
    /// How its spellings begin.
    pub start: &'static str,
    /// Words that each of them has.
    pub words: &'static [&'static str],
    /// What the side that refuses says: the code of Fencepost, or a part of the assembler's sentence.
    pub complaints: &'static [&'static str],
    /// Why it stays.
    pub why: &'static str,
}

const fn ours(start: &'static str, complaints: &'static [&'static str], why: &'static str) -> Difference {
    Difference { agreement: Agreement::OnlyOurs, start, words: &[], complaints, why }
}

const fn theirs(
    start: &'static str,
    words: &'static [&'static str],
    complaints: &'static [&'static str],
    why: &'static str,
) -> Difference {
    Difference { agreement: Agreement::OnlyAssembler, start, words, complaints, why }
}

const ONE_ELEMENT: &str = "one element, where PTX has `.v4`: sugar, the other three go nowhere";
const CLAMP: &str = "without `.trap`, `.clamp` or `.zero`, which differ outside of the surface only: sugar";
const NO_FLUSH: &str = "`.noftz` stands on 16-bit types in the ISA; of `.f32` it says nothing";
const NO_SIGN: &str =
    "`.add` has no `.s64` in the ISA, here as in `atom` and `red`; write `.u64`, which does the same";
const SHORT_V8: &str = "eight elements of 16 bits: the assembler dies of them where it optimises";

/// The classes.
pub const DIFFERENCES: &[Difference] = &[
    ours("tex", &["requires .v4 type", "instruction types specified for 'tex'"], ONE_ELEMENT),
    ours("suld", &["Clamp modifier required", "instruction types specified for 'suld.b'"], CLAMP),
    ours("sust", &["Clamp modifier required", "instruction types specified for 'sust.b'"], CLAMP),
    ours("sured", &["Clamp modifier required", "instruction types specified for 'sured.b'"], CLAMP),
    theirs("atom", &["noftz", "f32"], &["validate::illegal-operation-type"], NO_FLUSH),
    theirs("red.", &["noftz", "f32"], &["validate::illegal-operation-type"], NO_FLUSH),
    theirs("cp.reduce.async.bulk", &["noftz", "f32"], &["validate::illegal-operation-type"], NO_FLUSH),
    theirs("red.async", &["add", "s64"], &["validate::illegal-operation-type", "validate::mapa"], NO_SIGN),
    theirs(
        "cp.async.bulk",
        &["b128"],
        &["validate::copy-type"],
        "the ISA gives a type to copies with a sem only, where it says what is read at once",
    ),
    theirs(
        "fence.proxy.async::generic",
        &[],
        &["validate::restricted-fence"],
        "the ISA has `.acquire` and `.release` of scope `.cluster` only",
    ),
    theirs(
        "fence.proxy.tensormap::generic",
        &[],
        &["validate::operand-count"],
        "the ISA has no acquire of this fence without an address and a size",
    ),
    theirs("st.async", &[], &["validate::mapa"], "the ISA has stores of at least 32 bits to shared memory"),
    theirs(
        "st.async",
        &[],
        &["validate::async-sem"],
        "the ISA has `.weak` without a scope in shared memory, and `.release.gpu` and `.release.sys` in global memory",
    ),
    theirs("ld", &["v8"], &["validate::vector-size"], SHORT_V8),
    theirs("st", &["v8"], &["validate::vector-size"], SHORT_V8),
];

impl Difference {
    /// Whether a comparison is of this class.
    pub fn covers(&self, one: &Compared) -> bool {
        let text = &one.spelling.text;
        let words: Vec<&str> = text.split('.').collect();
        let complaint = one.said_against();
        one.agreement == self.agreement
            && text.starts_with(self.start)
            && self.words.iter().all(|word| words.contains(word))
            && self.complaints.iter().any(|part| complaint.contains(part))
    }
}

impl Compared {
    /// What the side that refuses says.
    pub fn said_against(&self) -> &str {
        match &self.spelling.ours {
            Ours::Refused(code) => code,
            _ => &self.complaint,
        }
    }
    /// Whether one side takes what the other calls wrong.
    pub fn differs(&self) -> bool {
        matches!(self.agreement, Agreement::OnlyOurs | Agreement::OnlyAssembler)
    }
    /// The class of the difference, if it is a known one.
    pub fn class(&self) -> Option<&'static Difference> {
        DIFFERENCES.iter().find(|class| class.covers(self))
    }
}
