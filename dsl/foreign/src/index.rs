//! Numbers that threads get from where they are: `int i = blockIdx.x * blockDim.x + threadIdx.x;`.

use crate::chain::Tokens;
use crate::token::Token;

/// CUDA's registers; the first axis is all there is where a line names no other.
const REGISTERS: &[(&str, &str)] = &[
    ("threadIdx.x", "tid"),
    ("threadIdx.y", "tid.y"),
    ("threadIdx.z", "tid.z"),
    ("blockIdx.x", "ctaid"),
    ("blockIdx.y", "ctaid.y"),
    ("blockIdx.z", "ctaid.z"),
    ("blockDim.x", "ntid"),
    ("blockDim.y", "ntid.y"),
    ("blockDim.z", "ntid.z"),
    ("gridDim.x", "nctaid"),
    ("gridDim.y", "nctaid.y"),
    ("gridDim.z", "nctaid.z"),
];

/// What a declaration becomes that computes such a number, the tokens `from..to`, if all of it is the same here.
pub fn declared(tokens: &Tokens<'_, '_>, from: usize, to: usize) -> Option<String> {
    let assign = (from..to).find(|&at| tokens.token(at) == Some(Token::Sign("=")))?;
    let Some(Token::Name(name)) = tokens.token(assign.checked_sub(1)?) else { return None };
    let end = if tokens.token(to.checked_sub(1)?) == Some(Token::Sign(";")) { to - 1 } else { to };
    let mut value = String::new();
    let mut n_registers = 0;
    let register =
        |at: usize| REGISTERS.iter().find(|(own, _)| *own == tokens.spelling(at)).map(|&(_, own)| own);
    let has_axes = (assign + 1..end).filter_map(register).any(|own| own.contains('.'));
    for at in assign + 1..end {
        let spelling = tokens.spelling(at);
        let known = register(at);
        n_registers += usize::from(known.is_some());
        let is_same = match tokens.token(at)? {
            Token::Name(_) => tokens.token(at + 1) != Some(Token::Sign("(")),
            Token::Number(_) | Token::Sign("(" | ")") => true,
            Token::Sign("+" | "-" | "*" | "/" | "%") => true,
            Token::Sign("&" | "|" | "^" | "<<" | ">>") => true,
            _ => false,
        };
        if known.is_none() && !is_same {
            return None;
        }
        if at > assign + 1
            && tokens.between(at - 1, at + 1).len() > tokens.spelling(at - 1).len() + spelling.len()
        {
            value.push(' ');
        }
        let same = match tokens.token(at) {
            Some(Token::Number(number)) => number.trim_end_matches(['u', 'U', 'l', 'L']),
            _ => spelling,
        };
        value += known.unwrap_or(same);
        if has_axes && known.is_some_and(|own| !own.contains('.')) {
            value += ".x";
        }
    }
    if n_registers == 0 {
        return None;
    }
    Some(if value == name {
        format!("take it out: `{name}` is there already")
    } else {
        format!("`let {name} = {value};`")
    })
}
