//! What people write in Fencepost's kernel language who know CUDA, libraries over it, C++, Python, Rust or PTX, and what they
//! should write instead.
//!
//! Nothing is accepted because of it: it is asked about texts that did not load. It knows texts and tokens, and nothing of the
//! language's trees and errors, so that the language can do without it.
//!
//! ```text
//!  sheet.txt ─ sheet ─┬─> chain: names as they stand in a text ─ paste: such names among the tokens, taken out
//!                     ├─> the page "From CUDA to .fence" of the book, which a test writes
//!                     └─> completions in editors
//!  habits, words, shape: shapes of lines and words ─ advice: what to write for an error in such a line
//! ```

mod advice;
mod chain;
mod habits;
mod index;
mod inline;
mod libcu;
mod operands;
mod origin;
mod paste;
mod shape;
pub mod sheet;
mod token;
mod words;

pub use advice::{Stumble, advice};
pub use origin::Origin;
pub use paste::{Found, Language, Other, Pasted, take_out};
pub use token::{Piece, Placed, PlacedPiece, Token};
