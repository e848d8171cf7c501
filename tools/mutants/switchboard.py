"""All mutants in one build: which of them is on is said when the tests are run.

A function with mutants becomes

    fn f(..) -> T { if crate::mutant_is_on(7) { BODY, changed } else { BODY } }

so that whatever a mutant changes inside of a function is a program, whether or not it is an
expression. What is not inside of one, or returns an `impl` type, of which there can be only one,
or is `const`, is left to a build of its own.
"""

import re

# The environment variable that says which mutant is on, counted from 1.
VARIABLE = "PLIMSOLL_MUTANT"

SWITCH = f"""
pub(crate) fn mutant_is_on(number: u32) -> bool {{
    static ON: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let read = || std::env::var("{VARIABLE}").ok().and_then(|text| text.parse().ok());
    *ON.get_or_init(|| read().unwrap_or(0)) == number
}}
"""

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/"""  # comments
    r"""|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*\""""  # strings
    r"""|b?'(?:\\.[^']*|[^'\\])'"""  # characters; lifetimes are not
    r"""|[A-Za-z_]\w*|[{}()\[\];]""",
    re.DOTALL,
)


def functions(text):
    """The functions that are not inside of others: where they begin, and their bodies' braces."""
    tokens = [(m.group(), m.start()) for m in TOKEN.finditer(text)]
    found, index = [], 0
    while index < len(tokens):
        index += 1
        if tokens[index - 1][0] != "fn":
            continue
        open_at = body(tokens, index)
        if open_at is not None:
            close_at = closing(tokens, open_at)
            found.append((tokens[index - 1][1], tokens[open_at][1], tokens[close_at][1]))
            index = close_at
    return found


def body(tokens, index):
    """The brace that opens the body of a function, if it has one."""
    depth = 0
    for at in range(index, len(tokens)):
        token = tokens[at][0]
        depth += (token in "([") - (token in ")]")
        if depth == 0 and token in "{;":
            return at if token == "{" else None
    return None


def closing(tokens, open_at):
    depth = 0
    for at in range(open_at, len(tokens)):
        depth += (tokens[at][0] == "{") - (tokens[at][0] == "}")
        if depth == 0:
            return at
    raise ValueError("a brace is not closed")


def switched(text, mutants):
    """The text with a switch for each (number, old, new) that can have one, and their numbers."""
    pieces, end, numbers = [], 0, set()
    for start, open_at, close_at in functions(text):
        inside = text[open_at + 1 : close_at]
        mine = [mutant for mutant in mutants if mutant[1] in inside]
        before = text[text.rfind("\n", 0, start) + 1 : start]
        if not mine or "const" in before.split() or re.search(r"->\s*impl\b", text[start:open_at]):
            continue
        arms = (
            f"if crate::mutant_is_on({number}) {{{inside.replace(old, new)}}} else "
            for number, old, new in mine
        )
        pieces += [text[end : open_at + 1], " ", *arms, "{", inside, "} "]
        end = close_at
        numbers.update(number for number, _, _ in mine)
    return "".join([*pieces, text[end:]]), numbers
