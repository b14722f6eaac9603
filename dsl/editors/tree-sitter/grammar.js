// The kernel language for tree-sitter: what `dsl/src/kernel/grammar.lalrpop` takes, and nothing else. Which instructions there are
// and what they want is no matter of a grammar.
//
// `src/parser.c` is made of this by `tree-sitter generate`, and is kept.

const comma = (rule) => seq(repeat(seq(rule, ",")), optional(rule));
const binary = (level, operator, self) =>
  prec.left(level, seq(field("left", self), field("operator", operator), field("right", self)));

// What both kinds of expressions have: those of threads, and those of what is claimed in the end, in which `[x]` is a value.
function expressions($, self, primary) {
  const levels = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", "<=", ">", ">="], ["<<", ">>"], ["+", "-"], ["*", "/", "%"]];
  return choice(
    ...primary,
    prec.right(1, seq(field("condition", self), "?", self, ":", self)),
    ...levels.map((operators, level) => binary(level + 2, operators.length > 1 ? choice(...operators) : operators[0], self)),
    prec(13, seq(field("operator", choice("!", "~", "-")), self)),
    prec.left(14, seq(self, "as", field("type", $.identifier))),
    $.number, "true", "false", $.identifier, $.coordinate, $.element, $.call,
  );
}

module.exports = grammar({
  name: "fence",
  word: ($) => $.identifier,
  extras: ($) => [/[ \t\r\n\f]/, $.comment],
  conflicts: ($) => [],
  supertypes: ($) => [],

  rules: {
    file: ($) => repeat($._item),

    _item: ($) =>
      choice($.use, $.constant, $.function, $.kernel, $.program, $.import, $.object, $.proxy_object, $.view),
    use: ($) => seq("use", $.text, ";"),
    constant: ($) => seq("const", field("name", $.identifier), "=", $._expression, ";"),
    function: ($) =>
      seq("fn", field("name", $.identifier), "(", comma($.parameter), ")",
        optional(seq("->", field("result", $.identifier))), field("body", $.block)),
    parameter: ($) => seq(field("name", $.identifier), ":", optional("&"), field("type", $.identifier)),
    kernel: ($) =>
      seq("kernel", field("name", $.identifier), optional($.ranges), field("body", $.block)),
    program: ($) =>
      seq("program", field("name", $.identifier), optional($.ranges), field("body", alias($.host_block, $.block))),
    ranges: ($) => seq("(", comma($.ranged), ")"),
    ranged: ($) => seq(field("name", $.identifier), "in", $.range),
    range: ($) => seq($._expression, choice("..", "..="), $._expression),

    import: ($) =>
      seq("import", $.text, $.identifier, field("entry", $.identifier), "as", field("name", $.identifier),
        "{", repeat($._import_statement), "}"),
    _import_statement: ($) =>
      choice($.launch, $.setting, seq("assume", $._expression, ";"), $.final),
    setting: ($) =>
      choice(
        seq(choice($.identifier, "param"), $.number, optional(choice(seq("..", $.number), seq("[", $._expression, "]"))),
          choice(seq("=", $._expression), seq("=", "&", $.place), seq("in", $.range)), ";"),
        seq("shared", $.identifier, $._expression, ";"),
      ),

    block: ($) => seq("{", repeat($._statement), "}"),
    _statement: ($) => choice($._any_statement, $.for, $.if),
    for: ($) => seq("for", field("name", $.identifier), "in", $.range, field("body", $.block)),
    if: ($) => seq("if", field("condition", $._expression), $.block, optional(seq("else", choice($.block, $.if)))),

    host_block: ($) => seq("{", repeat($._host_statement), "}"),
    _host_statement: ($) =>
      choice($._any_statement, alias($.host_for, $.for), alias($.host_if, $.if), $.start, $.host_call),
    host_for: ($) =>
      seq("for", field("name", $.identifier), "in", $.range, field("body", alias($.host_block, $.block))),
    host_if: ($) =>
      seq("if", field("condition", $._expression), alias($.host_block, $.block),
        optional(seq("else", choice(alias($.host_block, $.block), alias($.host_if, $.if))))),
    start: ($) =>
      seq("launch", field("kernel", $.identifier), optional(seq("(", comma($._expression), ")")), repeat($.clause), ";"),
    host_call: ($) =>
      seq(field("verb", $.identifier), optional(seq($.identifier, repeat(seq(",", $.identifier)), repeat($.clause))), ";"),
    clause: ($) => seq($.identifier, $.identifier),

    _any_statement: ($) =>
      choice(
        $.launch, $.object, $.proxy_object, $.view, $.final, $.client, $.let, $.var, $.assignment,
        seq($.call, ";"),
        seq(alias($.statement_instruction, $.instruction), ";"),
        $.while, $.loop,
        seq("break", ";"), seq("exit", ";"),
        $.claim,
        seq("return", optional($._value), ";"),
      ),
    launch: ($) => seq("launch", optional(field("name", $.identifier)), "{", comma($.launch_field), "}"),
    launch_field: ($) =>
      seq(field("name", $.identifier), ":", choice($._expression, seq("[", comma($._expression), "]"))),
    object: ($) =>
      seq(field("space", choice("global", "symmetric", "shared", "param", "register", "tmem")), $._declared,
        optional(choice(seq("=", $._initial), seq("alias", $.identifier), seq("of", $.place_box))), ";"),
    proxy_object: ($) =>
      seq(field("space", choice("texture", "surface", "constant", "multimem")), $._declared, "alias", $.identifier, ";"),
    _declared: ($) => seq(field("name", $.identifier), repeat($.index), ":", field("type", $.identifier)),
    place_box: ($) => seq($.identifier, "[", comma($._expression), "]"),
    _initial: ($) => choice($._expression, seq("{", comma($._initial), "}")),
    view: ($) => seq("view", $._declared, "of", $.identifier, optional(seq("+", $._expression)), ";"),
    client: ($) => seq("client", field("name", $.identifier), field("body", $.block)),
    let: ($) => seq("let", $._pattern, optional(seq(":", field("type", $.identifier))), "=", $._value, ";"),
    var: ($) => seq("var", field("name", $.identifier), optional(seq(":", field("type", $.identifier))), "=", $._value, ";"),
    _pattern: ($) => choice($._bound, seq("{", comma($._bound), "}")),
    _bound: ($) => choice(field("name", $.identifier), "_"),
    assignment: ($) =>
      seq(field("name", $.identifier), choice("=", "+=", "-=", "*=", "&=", "|=", "^=", "<<=", ">>="), $._value, ";"),
    while: ($) => seq("while", field("condition", $._expression), field("body", $.block)),
    loop: ($) => seq("loop", field("body", $.block)),
    claim: ($) => seq(choice("await", "assert", "assume", "reachable"), $._value, ";"),

    final: ($) => seq("final", "{", repeat(alias($.final_claim, $.claim)), "}"),
    final_claim: ($) => seq(choice("assert", "reachable"), $._final_expression, ";"),

    // Where nothing but `;` or `)` can follow, an instruction may have its whole operand list.
    _value: ($) => choice($._expression, alias($.value_instruction, $.instruction)),
    value_instruction: ($) =>
      choice(
        field("opcode", $.opcode),
        seq(field("opcode", $._opcode), $.memory, ",", $._operands),
        seq(field("opcode", $._opcode), $._plain_operand, optional(seq(",", $._operands))),
      ),
    statement_instruction: ($) => seq(field("opcode", $._opcode), optional($._operands)),
    _operands: ($) => prec.right(seq($._operand, repeat(seq(",", $._operand)))),
    _operand: ($) => choice($.memory, $._plain_operand),
    _plain_operand: ($) =>
      choice(alias($.vector, $.operands), $.tensor, "_", $._expression),
    vector: ($) => seq("{", comma($._expression), "}"),
    tensor: ($) => seq("[", $.place, ",", "{", comma($._expression), "}", "]"),
    memory: ($) =>
      seq("[", choice($.place, seq($.identifier, "(", $.place, ",", $._expression, ")")), "]"),
    place: ($) => seq($.identifier, repeat($.index)),
    index: ($) => seq("[", $._expression, "]"),

    _expression: ($) => choice(alias($.read, $.instruction), $.parenthesized, $._plain_expression),
    read: ($) => prec(15, seq(field("opcode", $._opcode), $.memory)),
    parenthesized: ($) => seq("(", $._value, ")"),
    _plain_expression: ($) => expressions($, $._expression, []),
    _final_expression: ($) =>
      choice($.memory, alias($.final_parenthesized, $.parenthesized), alias($.final_plain, $.expression)),
    final_parenthesized: ($) => seq("(", $._final_expression, ")"),
    final_plain: ($) => expressions($, $._final_expression, []),

    element: ($) => seq($.identifier, repeat1($.index)),
    call: ($) => prec(15, seq(field("function", $.identifier), "(", comma($._argument), ")")),
    _argument: ($) => choice($._expression, seq("&", $.place)),

    // A word with a dot; without one, the few that are instructions where they stand.
    _opcode: ($) => choice($.opcode, alias(choice("ld", "st", "atom", "red", "getctarank", "fence", "membar", "pmevent",
      "LD", "ST", "TLD", "ATOM", "RED", "MEMBAR", "CCTL", "CCTLT"), $.opcode)),
    opcode: ($) => token(prec(1, /[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+(::[A-Za-z0-9_]+)*)+/)),
    // A special register along one axis; like a word, and no opcode.
    coordinate: ($) => token(prec(2, /(tid|ntid|n?ctaid|n?clusterid|cluster_n?ctaid)\.[xyz]/)),
    identifier: ($) => /[A-Za-z_][A-Za-z0-9_]*/,
    number: ($) => /[0-9][A-Za-z0-9_]*/,
    text: ($) => /"[^"\n]*"/,
    comment: ($) => token(choice(/\/\/[^\n]*/, /\/\*([^*]|\*+[^*\/])*\*+\//)),
  },
});
