//! The checker for a page: a request is a text of JSON, and so is its answer.
//!
//! The module imports nothing. Whoever has it asks for [`room`], writes the request there, calls [`answer`], and reads that many
//! bytes at [`answer_at`]. Where it panics, the call traps, and what was said is at [`panic_at`]; then the module is of no more
//! use, and the next request is for a new one.

pub mod requests;
mod steps;

use std::cell::RefCell;
use std::panic;
use std::sync::{Mutex, PoisonError};

thread_local! {
    /// The request, then the answer to it.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What a panic said.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Makes room for a request of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        text.resize(bytes, 0);
        text.as_mut_ptr()
    })
}

/// Answers the request, and says how long the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    panic::set_hook(Box::new(|info| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
    let request = TEXT.take();
    let answer = requests::answer(&request).into_bytes();
    let length = answer.len();
    TEXT.set(answer);
    length
}

/// Where the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn answer_at() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}

/// How much a panic said; nothing, where there was none.
#[unsafe(no_mangle)]
pub extern "C" fn panic_bytes() -> usize {
    PANIC.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// Where that is.
#[unsafe(no_mangle)]
pub extern "C" fn panic_at() -> *const u8 {
    PANIC.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}
