//! Checks a JSON value strictly against one of the schemas in docs/schemas. Only the part of JSON Schema that
//! these schemas use is supported. A key that is not in the schema is an error. A keyword that is not supported is an
//! error too.

use serde_json::Value;

/// Asserts that `value` matches docs/schemas/`name`.
pub(crate) fn check(name: &str, value: &Value) {
    check_part(name, "", value);
}

/// Asserts that `value` matches a part of docs/schemas/`name`, such as `/$defs/tcp`.
pub(crate) fn check_part(name: &str, part: &str, value: &Value) {
    let path = format!("{}/../../docs/schemas/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let schema: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut problems = Vec::new();
    let wanted = schema.pointer(part).unwrap_or_else(|| panic!("{name} has no {part}"));
    walk(&schema, wanted, value, "$", &mut problems);
    assert!(problems.is_empty(), "{name}:\n{}", problems.join("\n"));
}

fn walk(root: &Value, schema: &Value, value: &Value, at: &str, problems: &mut Vec<String>) {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        let target = target.unwrap_or_else(|| panic!("no `{reference}` in the schema"));
        return walk(root, target, value, at, problems);
    }
    for keyword in schema.as_object().expect("a schema is an object").keys() {
        let known = [
            "$schema",
            "$defs",
            "title",
            "description",
            "type",
            "properties",
            "items",
            "minimum",
            "maximum",
            "enum",
            "additionalProperties",
        ];
        assert!(known.contains(&keyword.as_str()), "{at}: the keyword `{keyword}` is not checked");
    }
    if let Some(types) = schema.get("type") {
        let allowed: Vec<&str> = match types {
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        if !allowed.iter().any(|name| is(name, value)) {
            return problems.push(format!("{at}: {value} is not {allowed:?}"));
        }
    }
    if let Some(list) = schema.get("enum").and_then(Value::as_array)
        && !list.contains(value)
    {
        problems.push(format!("{at}: {value} is not one of {list:?}"));
    }
    if let Some(number) = value.as_f64() {
        let bound = |key| schema.get(key).and_then(Value::as_f64);
        if bound("minimum").is_some_and(|least| number < least) || bound("maximum").is_some_and(|most| number > most) {
            problems.push(format!("{at}: {number} is out of range"));
        }
    }
    match value {
        // Any object is allowed here, because the object is the user's own text.
        Value::Object(_) if schema.get("additionalProperties") == Some(&Value::Bool(true)) => {}
        Value::Object(fields) => {
            let known = schema.get("properties").and_then(Value::as_object);
            let known = known.unwrap_or_else(|| panic!("{at}: the schema names no properties"));
            for (name, field) in fields {
                match known.get(name) {
                    Some(schema) => walk(root, schema, field, &format!("{at}.{name}"), problems),
                    None => problems.push(format!("{at}.{name}: the schema has no such property")),
                }
            }
            for name in known.keys().filter(|name| !fields.contains_key(*name)) {
                problems.push(format!("{at}.{name}: missing"));
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                let schema = schema.get("items").unwrap_or_else(|| panic!("{at}: the schema names no items"));
                walk(root, schema, item, &format!("{at}[{i}]"), problems);
            }
        }
        _ => {}
    }
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        other => panic!("the type `{other}` is not checked"),
    }
}
