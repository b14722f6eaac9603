//! Numbers that threads get from where they are: `int i = blockIdx.x * blockDim.x + threadIdx.x;`.

use crate::chain::Tokens;
use crate::token::Token;

/// CUDA's registers, of the first dimension.
const REGISTERS: &[(&str, &str)] =
    &[("threadIdx.x", "tid"), ("blockIdx.x", "ctaid"), ("blockDim.x", "ntid"), ("gridDim.x", "nctaid")];

/// What a declaration becomes that computes such a number, the tokens `from..to`, if all of it is the same here.
pub fn declared(tokens: &Tokens<'_, '_>, from: usize, to: usize) -> Option<String> {
    let assign = (from..to).find(|&at| tokens.token(at) == Some(Token::Sign("=")))?;
    let Some(Token::Name(name)) = tokens.token(assign.checked_sub(1)?) else { return None };
    let end = if tokens.token(to.checked_sub(1)?) == Some(Token::Sign(";")) { to - 1 } else { to };
    let mut value = String::new();
    let mut n_registers = 0;
    for at in assign + 1..end {
        let spelling = tokens.spelling(at);
        let known = REGISTERS.iter().find(|(own, _)| *own == spelling);
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
        value += known.map_or(same, |(_, own)| own);
    }
    if n_registers == 0 {
        return None;
    }
    Some(if value == name {
        format!("take it out: `{name}` is there already")
    } else {
        format!("`let {name} = {value};`: launches have one dimension")
    })
}
