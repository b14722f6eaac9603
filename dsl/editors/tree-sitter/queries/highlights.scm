; Colours for editors that have tree-sitter: the names are those that they share.
["kernel" "program" "fn" "const" "use" "import" "launch" "client" "view" "of" "alias" "as" "let" "var" "if" "else" "for" "in"
 "while" "loop" "break" "exit" "return" "final"] @keyword
["await" "assert" "assume" "reachable"] @keyword.exception
["global" "shared" "symmetric" "param" "register" "tmem" "texture" "surface" "constant" "multimem"] @keyword.storage
(opcode) @function.builtin
(call function: (identifier) @function.call)
(function name: (identifier) @function)
(kernel name: (identifier) @type)
(program name: (identifier) @type)
(object type: (identifier) @type.builtin)
(launch_field name: (identifier) @property)
(coordinate) @variable.builtin
(number) @number
["true" "false"] @boolean
(text) @string
(comment) @comment
["=" "+=" "-=" "*=" "&=" "|=" "^=" "<<=" ">>=" "||" "&&" "|" "^" "&" "==" "!=" "<" "<=" ">" ">=" "<<" ">>" "+" "-" "*" "/" "%"
 "!" "~" "?" ".." "..=" "->"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
[";" "," ":"] @punctuation.delimiter
