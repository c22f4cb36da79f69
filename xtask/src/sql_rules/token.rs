//! SQL text as words and signs, without what is only said and not done: comments and literals.

/// A word or a sign of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A key word or an identifier, in lower case.
    Word(String),
    /// An identifier in double quotes: never a key word.
    Quoted(String),
    /// Any other sign; a literal counts as one `'`.
    Sign(char),
}

impl Token {
    /// Whether this is the key word `word` (or an identifier that is written like it).
    pub fn is(&self, word: &str) -> bool {
        matches!(self, Token::Word(w) if w == word)
    }

    /// The identifier, quoted or not.
    pub fn name(&self) -> Option<&str> {
        match self {
            Token::Word(name) | Token::Quoted(name) => Some(name),
            Token::Sign(_) => None,
        }
    }
}

/// The tokens of a statement.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut scan = Scan { rest: text, tokens: Vec::new() };
    while scan.step() {}
    scan.tokens
}

/// The statements of a script.
pub fn split(script: &str) -> Vec<String> {
    let mut statements = Vec::new();
    let mut start = 0;
    let mut scan = Scan { rest: script, tokens: Vec::new() };
    loop {
        let more = scan.step();
        let at = script.len() - scan.rest.len();
        if !more || scan.tokens.last() == Some(&Token::Sign(';')) {
            scan.tokens.retain(|token| *token != Token::Sign(';'));
            if !scan.tokens.is_empty() {
                statements.push(script[start..at].trim().to_string());
                scan.tokens.clear();
            }
            start = at;
        }
        if !more {
            return statements;
        }
    }
}

struct Scan<'a> {
    rest: &'a str,
    tokens: Vec<Token>,
}

impl Scan<'_> {
    /// Takes one token, comment or stretch of white space; false at the end.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if self.rest.starts_with("--") {
            self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.comment();
        } else if first == '\'' {
            let escapes = self.tokens.last().is_some_and(|t| t.is("e"));
            self.literal(escapes);
        } else if first == '"' {
            self.quoted();
        } else if first == '$' && self.dollar_literal() {
        } else if first.is_alphanumeric() || first == '_' {
            let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
            let end = end.unwrap_or(self.rest.len());
            self.tokens.push(Token::Word(self.rest[..end].to_lowercase()));
            self.skip(end);
        } else {
            if !first.is_whitespace() {
                self.tokens.push(Token::Sign(first));
            }
            self.skip(first.len_utf8());
        }
        true
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    /// Comments nest.
    fn comment(&mut self) {
        let mut depth = 0;
        loop {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.skip(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.skip(2);
            } else if let Some(c) = self.rest.chars().next() {
                self.skip(c.len_utf8());
            } else {
                return;
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// A doubled quote is one of the text; so is a quote after a backslash, where the literal is
    /// an `E'…'`.
    fn literal(&mut self, escapes: bool) {
        let mut chars = self.rest.char_indices().skip(1).peekable();
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            if c == '\\' && escapes {
                chars.next();
            } else if c == '\'' {
                if chars.peek().is_some_and(|(_, next)| *next == '\'') {
                    chars.next();
                } else {
                    end = at + 1;
                    break;
                }
            }
        }
        self.tokens.push(Token::Sign('\''));
        self.skip(end);
    }

    fn quoted(&mut self) {
        let end = self.rest[1..].find('"').map_or(self.rest.len(), |at| at + 2);
        self.tokens.push(Token::Quoted(self.rest[..end].trim_matches('"').to_string()));
        self.skip(end);
    }

    /// `$$…$$` or `$tag$…$tag$`; `$1` is a parameter.
    fn dollar_literal(&mut self) -> bool {
        let Some(tag_end) = self.rest[1..].find('$') else { return false };
        let (tag, body) = self.rest.split_at(tag_end + 2);
        let name = &tag[1..tag.len() - 1];
        let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_name || name.starts_with(|c: char| c.is_ascii_digit()) {
            return false;
        }
        let end = body.find(tag).map_or(self.rest.len(), |at| at + 2 * tag.len());
        self.tokens.push(Token::Sign('\''));
        self.skip(end);
        true
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn words(text: &str) -> String {
        let show = |token: Token| match token {
            Token::Word(word) => word,
            Token::Quoted(name) => format!("\"{name}\""),
            Token::Sign(sign) => sign.to_string(),
        };
        tokens(text).into_iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_literals_say_nothing() {
        assert_eq!(
            words("SELECT 'a ''quoted'' NOTIFY', b -- LISTEN\nFROM t"),
            "select ' , b from t"
        );
        assert_eq!(words("a /* x /* y */ DO */ b"), "a b");
        assert_eq!(words("a $$ DO $$ b $tag$ $$ DO $tag$ c"), "a ' b ' c");
        assert_eq!(words(r"E'\' DO' x 'a\' y"), "e ' x ' y");
        assert_eq!(words("\"DO\".\"n\""), "\"DO\" . \"n\"");
        assert_eq!(words("a = $1 AND b = $2"), "a = $ 1 and b = $ 2");
    }

    #[test]
    fn what_is_left_open_ends_with_the_text() {
        for text in ["'a", "\"a", "/* a", "$$ a", "$a", "$"] {
            tokens(text);
        }
    }

    #[test]
    fn scripts_are_split_at_their_semicolons() {
        assert_eq!(split("A; -- ;\nB ';' $$;$$;\n\n; C"), ["A;", "-- ;\nB ';' $$;$$;", "C"]);
        assert!(split("-- nothing;\n").is_empty());
    }
}
