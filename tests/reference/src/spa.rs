//! SPA 5.0 as a machine that runs: every way in which the accesses of a small program can happen, one step at a time.
//!
//! An access is issued in program order and then happens bit by bit: a store becomes visible to one place after the other
//! (the CTAs, the clients) and arrives in one memory after the other (of the CTA, the channel, the device, the system); a
//! load looks at the stores of one distance after the other. The queue of a thread lets each step go as soon as what it must
//! wait for has gone: earlier accesses of the same bytes, what its value is computed from, what a `MEMBAR` or barrier holds
//! it back for. L1s hold, for each thread of an SM, line and distance, what they were filled with; fills come and go at
//! any time, and cache control drops lines of all threads of the SM.
//!
//! Only the order in which stores of one location end up in memory is chosen beforehand, to be kept to. Nothing of the
//! checker is used here, nor of its model file. Cannot: loops, symbolic addresses, accesses of different sizes, texture
//! loads of what the same thread stores.

use std::collections::{BTreeMap, BTreeSet, HashSet};

mod machine;
mod rules;

pub use machine::outcomes;

/// Which cache a load goes through.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Path {
    /// None: `LD.CV`, and every load of a client.
    Past,
    /// The data L1: `LD`.
    Data,
    /// The texture L1: `TLD`.
    Texture,
}

/// What a store writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// A number.
    Constant(u64),
    /// What a register holds, plus a number that tells stores apart.
    Sum(usize, u64),
}

/// An instruction; registers are numbered within their thread, locations over the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// `LD`, `LD.CV`, `TLD`
    Load(Path, usize, usize),
    /// `ST`
    Store(usize, Value),
    /// `ST`, if a register is not zero.
    StoreIf(usize, usize, Value),
    /// `ATOM.EXCH`: register, location, new value.
    Exchange(usize, usize, u64),
    /// `MEMBAR`: level from 1 to 4, and whether it invalidates data and texture L1.
    Membar(u8, bool, bool),
    /// `CCTL.IV`
    InvalidateLine(usize),
    /// `CCTL.D.IVALL` and `CCTLT.IVALL`: whether data and texture L1.
    InvalidateAll(bool, bool),
    /// `BAR.SYNC 0`
    Barrier,
}

/// Where a thread runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seat {
    /// Its CTA; clients have numbers of their own.
    pub place: usize,
    /// The SM of its CTA; none for clients.
    pub sm: Option<usize>,
    /// The lowest level that reaches SM threads of the first device: 2, or 3 and 4 for clients.
    pub reach: u8,
}

/// A program: what each thread runs, and where.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// Where each thread runs.
    pub seats: Vec<Seat>,
    /// What it runs.
    pub threads: Vec<Vec<Op>>,
    /// Locations, which start at 0.
    pub n_locations: usize,
}

/// How the machine answers what the document leaves open.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Reading {
    /// stores before a `MEMBAR` happen before loads after it.
    pub store_load: bool,
    /// a `MEMBAR` waits for the stores of others, too, that its thread has seen.
    pub cumulative: bool,
    /// stores reach only the L1 contents of their own CTA.
    pub sm_shares_nothing: bool,
    /// `BAR.SYNC` orders no memory by itself.
    pub bar_orders_nothing: bool,
}

/// What a run ends with: what every register and location holds, by name.
pub type Outcome = BTreeMap<String, u64>;

impl Sketch {
    /// The lowest level of `MEMBAR` that reaches from one thread's place to another's.
    fn distance(&self, a: usize, b: usize) -> u8 {
        let (a, b) = (self.seats[a], self.seats[b]);
        if a.place == b.place { 1 } else { a.reach.max(b.reach) }
    }
}
