//! One row of a relation, without its empty words, shared where equal rows meet.
//!
//! Most rows are short (what is next to an event) or common to many events (everything after a barrier, every other
//! thread). So a row keeps only words with a bit in them, and rows that come out equal to an operand share its memory.
//! Which words are kept is written in a *summary*, one bit a word, so that a membership test stays a few instructions.

use crate::work::{self, Work};
use std::ops::Range;
use std::sync::Arc;

/// Words are summarised 64 at a time.
pub(super) const BLOCK: usize = 64;

/// A set of events. Canonical: equal sets have equal representations.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Row {
    /// Nothing.
    #[default]
    Empty,
    /// A single word with a bit in it.
    One {
        /// Which word.
        at: u32,
        /// Its bits.
        word: u64,
    },
    /// Several: the summary of each block of words, then the words, ascending.
    Many(Arc<[u64]>),
}

/// What tells rows apart without looking into them: equal keys, equal rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RowKey {
    /// Nothing.
    Empty,
    /// A single word.
    One(u32, u64),
    /// Where the words are.
    Many(*const u64),
}

/// The blocks of a row in turn.
pub(super) struct Blocks<'a> {
    row: &'a Row,
    n_blocks: usize,
    block: usize,
    offset: usize,
}

impl<'a> Iterator for Blocks<'a> {
    /// The summary of a block, and its words.
    type Item = (u64, &'a [u64]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.block == self.n_blocks {
            return None;
        }
        let block = self.block;
        self.block += 1;
        Some(match self.row {
            Row::One { at, word } if *at as usize / BLOCK == block => {
                (1 << (*at as usize % BLOCK), std::slice::from_ref(word))
            }
            Row::Empty | Row::One { .. } => (0, &[]),
            Row::Many(words) => {
                let summary = words[block];
                let start = self.offset;
                self.offset += summary.count_ones() as usize;
                (summary, &words[start..self.offset])
            }
        })
    }
}

/// How two rows combine, word by word; a word empty in both stays empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Combine {
    Union,
    Intersection,
    Difference,
}

impl Combine {
    fn words(self, a: u64, b: u64) -> u64 {
        match self {
            Self::Union => a | b,
            Self::Intersection => a & b,
            Self::Difference => a & !b,
        }
    }
}

impl Row {
    /// See [`RowKey`].
    pub fn key(&self) -> RowKey {
        match self {
            Self::Empty => RowKey::Empty,
            Self::One { at, word } => RowKey::One(*at, *word),
            Self::Many(words) => RowKey::Many(words.as_ptr()),
        }
    }
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }
    pub(super) fn blocks(&self, n_blocks: usize) -> Blocks<'_> {
        work::count(Work::Word, 8 + if let Self::Many(words) = self { words.len() } else { 1 });
        Blocks { row: self, n_blocks, block: 0, offset: n_blocks }
    }
    /// The words with a bit in them, ascending.
    pub(super) fn words(&self, n_blocks: usize) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.blocks(n_blocks).enumerate().flat_map(|(block, (mut summary, words))| {
            words.iter().map(move |&word| {
                let at = block * BLOCK + summary.trailing_zeros() as usize;
                summary &= summary - 1;
                (at, word)
            })
        })
    }
    /// One word.
    pub(super) fn word(&self, n_blocks: usize, at: usize) -> u64 {
        match self {
            Self::Empty => 0,
            Self::One { at: own, word } => {
                if *own as usize == at {
                    *word
                } else {
                    0
                }
            }
            Self::Many(words) => {
                let (block, bit) = (at / BLOCK, at % BLOCK);
                if words[block] >> bit & 1 == 0 {
                    return 0;
                }
                let before: u32 = words[..block].iter().map(|summary| summary.count_ones()).sum();
                let here = (words[block] & ((1 << bit) - 1)).count_ones();
                words[n_blocks + (before + here) as usize]
            }
        }
    }
    /// Whether an event is in it.
    pub(super) fn contains(&self, n_blocks: usize, event: usize) -> bool {
        self.word(n_blocks, event / 64) >> (event % 64) & 1 == 1
    }
    /// Number of words with a bit in them, and of summaries.
    pub(super) fn n_words(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::One { .. } => 1,
            Self::Many(words) => words.len(),
        }
    }
    /// Number of members.
    pub(super) fn len(&self, n_blocks: usize) -> usize {
        match self {
            Self::Empty => 0,
            Self::One { word, .. } => word.count_ones() as usize,
            Self::Many(words) => words[n_blocks..].iter().map(|word| word.count_ones() as usize).sum(),
        }
    }
    /// From all words of a row.
    pub(super) fn of_words(words: &[u64]) -> Self {
        Self::of_words_within(words, 0..words.len())
    }
    /// The same, if all others are empty.
    pub(super) fn of_words_within(words: &[u64], used: Range<usize>) -> Self {
        let of_used = || used.clone().zip(&words[used.clone()]);
        let mut n_kept = 0;
        let mut last = 0;
        for (at, &word) in of_used() {
            if word != 0 {
                n_kept += 1;
                last = at;
            }
        }
        match n_kept {
            0 => Self::Empty,
            1 => Self::one(last, words[last]),
            _ => {
                let n_blocks = words.len().div_ceil(BLOCK);
                let mut packed = vec![0; n_blocks];
                packed.reserve_exact(n_kept);
                for (at, &word) in of_used() {
                    if word != 0 {
                        packed[at / BLOCK] |= 1 << (at % BLOCK);
                        packed.push(word);
                    }
                }
                Self::Many(packed.into())
            }
        }
    }
    fn one(at: usize, word: u64) -> Self {
        Self::One { at: u32::try_from(at).expect("event ids have 32 bits"), word }
    }
    /// With one word replaced.
    pub(super) fn with_word(&mut self, n_blocks: usize, at: usize, word: u64) {
        let old = self.word(n_blocks, at);
        if old == word {
            return;
        }
        if let Self::Many(words) = self
            && old != 0
            && word != 0
            && let Some(words) = Arc::get_mut(words)
        {
            let (block, bit) = (at / BLOCK, at % BLOCK);
            let before: u32 = words[..block].iter().map(|summary| summary.count_ones()).sum();
            let here = (words[block] & ((1 << bit) - 1)).count_ones();
            words[n_blocks + (before + here) as usize] = word;
            return;
        }
        let mut kept: Vec<(usize, u64)> = self.words(n_blocks).filter(|&(other, _)| other != at).collect();
        if word != 0 {
            kept.insert(kept.partition_point(|&(other, _)| other < at), (at, word));
        }
        *self = Self::of_kept(n_blocks, &kept);
    }
    fn of_kept(n_blocks: usize, kept: &[(usize, u64)]) -> Self {
        match *kept {
            [] => Self::Empty,
            [(at, word)] => Self::one(at, word),
            _ => {
                let mut packed = vec![0; n_blocks];
                packed.reserve_exact(kept.len());
                for &(at, word) in kept {
                    packed[at / BLOCK] |= 1 << (at % BLOCK);
                    packed.push(word);
                }
                Self::Many(packed.into())
            }
        }
    }
    /// Word by word; shares memory with an operand it is equal to. `scratch` is for reuse between calls.
    pub(super) fn combine(
        &self,
        other: &Self,
        n_blocks: usize,
        how: Combine,
        scratch: &mut Vec<u64>,
    ) -> Self {
        match (how, self, other) {
            (Combine::Union | Combine::Difference, _, Self::Empty)
            | (Combine::Intersection | Combine::Difference, Self::Empty, _) => return self.clone(),
            (Combine::Union, Self::Empty, _) | (Combine::Intersection, _, Self::Empty) => {
                return other.clone();
            }
            (_, Self::One { at, word }, Self::One { at: other_at, word: other_word }) if at == other_at => {
                let word = how.words(*word, *other_word);
                return if word == 0 { Self::Empty } else { Self::One { at: *at, word } };
            }
            (Combine::Intersection | Combine::Difference, Self::One { at, word }, _) => {
                let word = how.words(*word, other.word(n_blocks, *at as usize));
                return if word == 0 { Self::Empty } else { Self::One { at: *at, word } };
            }
            (Combine::Intersection, _, Self::One { .. }) => {
                return other.combine(self, n_blocks, how, scratch);
            }
            (Combine::Union | Combine::Intersection, Self::Many(a), Self::Many(b)) if Arc::ptr_eq(a, b) => {
                return self.clone();
            }
            (Combine::Difference, Self::Many(a), Self::Many(b)) if Arc::ptr_eq(a, b) => return Self::Empty,
            _ => {}
        }
        scratch.clear();
        scratch.resize(n_blocks, 0);
        for (block, ((a, a_words), (b, b_words))) in
            self.blocks(n_blocks).zip(other.blocks(n_blocks)).enumerate()
        {
            let wanted = match how {
                Combine::Union => a | b,
                Combine::Intersection => a & b,
                Combine::Difference => a,
            };
            scratch[block] = combine_block((a, a_words), (b, b_words), wanted, how, scratch);
        }
        match scratch.len() - n_blocks {
            0 => Self::Empty,
            1 => {
                let block = scratch[..n_blocks].iter().position(|&summary| summary != 0).unwrap_or(0);
                Self::one(block * BLOCK + scratch[block].trailing_zeros() as usize, scratch[n_blocks])
            }
            _ => match (self, other) {
                (Self::Many(own), _) if **own == **scratch => self.clone(),
                (_, Self::Many(own)) if **own == **scratch => other.clone(),
                _ => Self::Many(Arc::from(scratch.as_slice())),
            },
        }
    }
    /// `words |= self`.
    pub(super) fn or_into(&self, n_blocks: usize, words: &mut [u64]) {
        for (block, (summary, own)) in self.blocks(n_blocks).enumerate() {
            let base = block * BLOCK;
            if own.len() == BLOCK {
                for (into, &word) in words[base..base + BLOCK].iter_mut().zip(own) {
                    *into |= word;
                }
                continue;
            }
            let mut summary = summary;
            for &word in own {
                words[base + summary.trailing_zeros() as usize] |= word;
                summary &= summary - 1;
            }
        }
    }
    /// Whether every member is a member of `other`.
    pub(super) fn is_subset(&self, other: &Self, n_blocks: usize) -> bool {
        if let (Self::Many(a), Self::Many(b)) = (self, other)
            && Arc::ptr_eq(a, b)
        {
            return true;
        }
        self.blocks(n_blocks).zip(other.blocks(n_blocks)).all(|((a, a_words), (b, b_words))| {
            if a & !b != 0 {
                return false;
            }
            if a == b {
                return a_words.iter().zip(b_words).all(|(&word, &only)| word & !only == 0);
            }
            let mut rest = a;
            a_words.iter().all(|&word| {
                let bit = rest & rest.wrapping_neg();
                rest &= rest - 1;
                word & !b_words[(b & (bit - 1)).count_ones() as usize] == 0
            })
        })
    }
}

/// Appends the words of one block of a combination to `out`; returns its summary.
fn combine_block(
    (a, a_words): (u64, &[u64]),
    (b, b_words): (u64, &[u64]),
    wanted: u64,
    how: Combine,
    out: &mut Vec<u64>,
) -> u64 {
    let mut kept = 0;
    let mut rest = wanted;
    let mut push = |bit: u64, word: u64| {
        if word != 0 {
            kept |= bit;
            out.push(word);
        }
    };
    if a == b {
        for (&x, &y) in a_words.iter().zip(b_words) {
            push(rest & rest.wrapping_neg(), how.words(x, y));
            rest &= rest - 1;
        }
        return kept;
    }
    let at = |summary: u64, words: &[u64], bit: u64| {
        if summary & bit == 0 { 0 } else { words[(summary & (bit - 1)).count_ones() as usize] }
    };
    while rest != 0 {
        let bit = rest & rest.wrapping_neg();
        push(bit, how.words(at(a, a_words, bit), at(b, b_words, bit)));
        rest &= rest - 1;
    }
    kept
}
