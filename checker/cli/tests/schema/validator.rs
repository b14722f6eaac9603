//! As much of JSON Schema as the schemas here use. A keyword that is not known here is an error, so that nothing is taken
//! for checked that was not.

use serde_json::Value;

/// Says what a value must be.
pub struct Schema {
    root: Value,
    /// Whether an object may have only the fields that its schema lists.
    is_strict: bool,
}

impl Schema {
    pub fn new(text: &str, is_strict: bool) -> Self {
        Self { root: serde_json::from_str(text).expect("a schema is JSON"), is_strict }
    }

    /// What is wrong with a value; nothing if it is valid.
    pub fn errors(&self, value: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        self.check(&self.root, value, "", &mut errors);
        errors
    }

    fn is_valid(&self, schema: &Value, value: &Value) -> bool {
        let mut errors = Vec::new();
        self.check(schema, value, "", &mut errors);
        errors.is_empty()
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
        let keywords = schema.as_object().unwrap_or_else(|| panic!("{at}: a schema is an object"));
        let mut wrong = |what: String| errors.push(format!("{at}: {what}"));
        let list = |of: &Value| of.as_array().cloned().unwrap_or_default();
        let mut inner: Vec<(Value, Value, String)> = Vec::new();
        for (keyword, of) in keywords {
            match keyword.as_str() {
                "$schema" | "$id" | "$defs" | "definitions" | "title" | "description" | "default"
                | "format" => {}
                "$ref" => inner.push((self.resolve(of), value.clone(), at.to_owned())),
                "type" => {
                    let names = if of.is_array() { list(of) } else { vec![of.clone()] };
                    if !names.iter().any(|name| is_of(name.as_str().unwrap_or(""), value)) {
                        wrong(format!("{value} is no {of}"));
                    }
                }
                "enum" if !list(of).contains(value) => wrong(format!("{value} is none of {of}")),
                "const" if of != value => wrong(format!("{value} is not {of}")),
                "enum" | "const" => {}
                "required" => {
                    for name in list(of) {
                        let name = name.as_str().expect("a name").to_owned();
                        if value.is_object() && value.get(&name).is_none() {
                            wrong(format!("`{name}` is missing"));
                        }
                    }
                }
                "properties" => {
                    for (name, schema) in of.as_object().into_iter().flatten() {
                        if let Some(field) = value.get(name) {
                            inner.push((schema.clone(), field.clone(), format!("{at}/{name}")));
                        }
                    }
                }
                "additionalProperties" if of.is_object() => {
                    for (name, field) in value.as_object().into_iter().flatten() {
                        if schema["properties"].get(name).is_none() {
                            inner.push((of.clone(), field.clone(), format!("{at}/{name}")));
                        }
                    }
                }
                "additionalProperties" => {}
                "items" => {
                    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                        inner.push((of.clone(), item.clone(), format!("{at}/{i}")));
                    }
                }
                "minItems" => {
                    if value.as_array().is_some_and(|items| (items.len() as u64) < of.as_u64().unwrap_or(0)) {
                        wrong(format!("fewer than {of} items"));
                    }
                }
                "uniqueItems" => {
                    let items = list(value);
                    let is_twice = |(i, item): (usize, &Value)| items[..i].contains(item);
                    if of == &Value::Bool(true) && items.iter().enumerate().any(is_twice) {
                        wrong("an item is there twice".to_owned());
                    }
                }
                "minimum" if value.as_f64() < of.as_f64() && value.is_number() => {
                    wrong(format!("{value} is less than {of}"));
                }
                "maximum" if value.as_f64() > of.as_f64() => wrong(format!("{value} is more than {of}")),
                "minimum" | "maximum" => {}
                "pattern" => {
                    if value.as_str().is_some_and(|text| !matches_pattern(of.as_str().unwrap_or(""), text)) {
                        wrong(format!("{value} does not match {of}"));
                    }
                }
                "anyOf" => {
                    if !list(of).iter().any(|schema| self.is_valid(schema, value)) {
                        wrong("no alternative fits".to_owned());
                        // Of the first one it is said why.
                        inner.extend(
                            list(of).first().map(|schema| (schema.clone(), value.clone(), at.to_owned())),
                        );
                    }
                }
                "oneOf" => {
                    let fits = list(of).iter().filter(|schema| self.is_valid(schema, value)).count();
                    if fits != 1 {
                        wrong(format!("{fits} of the alternatives fit"));
                    }
                }
                other => panic!("{at}: the validator does not know `{other}`"),
            }
        }
        let is_closed = schema["additionalProperties"] == false
            || self.is_strict
                && keywords.contains_key("properties")
                && !keywords.contains_key("additionalProperties");
        if is_closed {
            for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
                if schema["properties"].get(name).is_none() {
                    wrong(format!("`{name}` is not described"));
                }
            }
        }
        for (schema, value, at) in inner {
            self.check(&schema, &value, &at, errors);
        }
    }

    fn resolve(&self, reference: &Value) -> Value {
        let path = reference.as_str().and_then(|text| text.strip_prefix('#')).expect("a local reference");
        self.root.pointer(path).unwrap_or_else(|| panic!("{path} is not there")).clone()
    }
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("there is no type `{other}`"),
    }
}

/// The patterns that values here have to match.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let is_code = |text: &str| {
        text.split_once("::").is_some_and(|(family, name)| {
            let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            !family.is_empty()
                && family.chars().all(|c| c.is_ascii_lowercase())
                && !name.is_empty()
                && name.chars().all(kebab)
        })
    };
    match pattern {
        "^[a-z]+::[a-z0-9-]+$" => is_code(text),
        "^warning::[a-z0-9-]+$" => is_code(text) && text.starts_with("warning::"),
        other => panic!("the validator does not know the pattern `{other}`"),
    }
}
