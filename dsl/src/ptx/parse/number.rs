//! Numbers as PTX writes them.

/// An integer of any base, with or without `U`.
pub fn integer(text: &str) -> Option<u64> {
    let text = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', b'b' | b'B', ..] => (&text[2..], 2),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    u64::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with(['+', '-']))
}

/// The bits of a floating-point number, and how many they are.
pub fn float(text: &str) -> Option<(u64, u8)> {
    match text.as_bytes() {
        [b'0', b'f' | b'F', ..] => u32::from_str_radix(&text[2..], 16).ok().map(|bits| (u64::from(bits), 32)),
        [b'0', b'd' | b'D', ..] => u64::from_str_radix(&text[2..], 16).ok().map(|bits| (bits, 64)),
        _ if text.contains('.') => text.parse().ok().map(|value: f64| (value.to_bits(), 64)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{float, integer};

    #[test]
    fn numbers_of_all_bases() {
        assert_eq!(integer("0x1F"), Some(31));
        assert_eq!(integer("0b101"), Some(5));
        assert_eq!(integer("017"), Some(15));
        assert_eq!(integer("4294967295U"), Some(0xffff_ffff));
        assert_eq!(integer("0"), Some(0));
        assert_eq!(integer("18446744073709551616"), None);
        assert_eq!(integer("0x"), None);
        assert_eq!(float("0f3F800000"), Some((0x3f80_0000, 32)));
        assert_eq!(float("0d3FF0000000000000"), Some((0x3ff0_0000_0000_0000, 64)));
        assert_eq!(float("1.0"), Some((0x3ff0_0000_0000_0000, 64)));
        assert_eq!(float("12"), None);
    }
}
