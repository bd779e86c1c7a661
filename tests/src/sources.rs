//! The repository as text: every file, and the Rust sources without comments and without their tests.

use crate::places::{target_folder, workspace_root};
use std::fs;
use std::path::Path;

/// One file of the repository.
#[derive(Debug, Clone)]
pub struct File {
    /// Its path below the root, with `/`.
    pub path: String,
    /// Its text; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// One Rust file.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its path below the root, with `/`.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// Its text without comments and without items under `#[cfg(test)]`; line numbers stay.
    pub code: String,
    /// The same with every string literal emptied.
    pub bare: String,
    /// Lines, those of items under `#[cfg(test)]` not counted.
    pub lines: usize,
}

impl Source {
    /// Takes the file apart.
    #[must_use]
    pub fn new(path: &str, text: &str) -> Self {
        let (code, bare) = Lexer::new(text).run();
        let shipped = shipped_lines(&bare);
        let keep = |text: &str| {
            let lines = text.split('\n').zip(&shipped).map(|(line, &shipped)| if shipped { line } else { "" });
            lines.collect::<Vec<_>>().join("\n")
        };
        let lines = text.lines().zip(&shipped).filter(|(_, shipped)| **shipped).count();
        Self { path: path.to_owned(), text: text.to_owned(), code: keep(&code), bare: keep(&bare), lines }
    }

    /// Whether the whole file is a test: a file in a folder `tests`, or one that stands under `#[cfg(test)]`.
    #[must_use]
    pub fn is_test(&self) -> bool {
        let (folders, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let stem = name.strip_suffix(".rs").unwrap_or(name);
        folders.split('/').any(|folder| folder == "tests") || is_test_name(stem)
    }

    /// The lines of shipped code that contain this, as `path:line`.
    #[must_use]
    pub fn places(&self, wanted: &str) -> Vec<String> {
        let lines = self.code.lines().enumerate().filter(|(_, line)| line.contains(wanted));
        lines.map(|(at, _)| format!("{}:{}", self.path, at + 1)).collect()
    }
}

/// Whether a module of this name holds tests alone.
#[must_use]
pub fn is_test_name(module: &str) -> bool {
    module == "tests" || module == "testing" || module.ends_with("_tests")
}

/// Every file of the repository, in the order of their paths. What cargo, git and editors keep is left out.
///
/// # Errors
/// The path that could not be read, and why.
pub fn files() -> Result<Vec<File>, String> {
    let root = workspace_root();
    let mut found = Vec::new();
    walk(&root, &root, &target_folder(), &mut found)?;
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// Every Rust file of the repository.
///
/// # Errors
/// The path that could not be read, and why.
pub fn rust() -> Result<Vec<Source>, String> {
    let files = files()?.into_iter().filter(|file| file.path.ends_with(".rs"));
    Ok(files.map(|file| Source::new(&file.path, &file.text)).collect())
}

fn walk(root: &Path, folder: &Path, target: &Path, found: &mut Vec<File>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            let kept_by_tools = name.starts_with('.') && name != ".ci";
            let built = name == "target" || name == "node_modules" || name == "__pycache__" || path == target;
            if !kept_by_tools && !built {
                walk(root, &path, target, found)?;
            }
        } else if kind.is_file() {
            let bytes = fs::read(&path).map_err(failed)?;
            let below = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            found.push(File { path: below, text: String::from_utf8_lossy(&bytes).into_owned() });
        }
    }
    Ok(())
}

// rustfmt has run: an item under `#[cfg(test)]` ends at its own indent, with a brace or a semicolon.
fn shipped_lines(bare: &str) -> Vec<bool> {
    let mut shipped = Vec::new();
    let mut tests: Option<usize> = None;
    for line in bare.split('\n') {
        let inner = line.trim_start();
        let indent = line.len() - inner.len();
        if tests.is_none() && inner == "#[cfg(test)]" {
            tests = Some(indent);
            shipped.push(false);
            continue;
        }
        shipped.push(tests.is_none());
        if tests == Some(indent) && !inner.starts_with("#[") && (inner.ends_with(';') || inner.ends_with('}')) {
            tests = None;
        }
    }
    shipped
}

/// Splits comments and strings from code. It knows as much of Rust as that needs.
struct Lexer {
    chars: Vec<char>,
    at: usize,
    code: String,
    bare: String,
}

impl Lexer {
    fn new(text: &str) -> Self {
        Self { chars: text.chars().collect(), at: 0, code: String::new(), bare: String::new() }
    }

    fn run(mut self) -> (String, String) {
        while let Some(c) = self.peek(0) {
            match c {
                '/' if self.peek(1) == Some('/') => self.line_comment(),
                '/' if self.peek(1) == Some('*') => self.block_comment(),
                '"' => self.string(),
                'r' if !self.after_word() && self.raw_fence().is_some() => self.raw_string(),
                '\'' if self.is_char() => self.char_literal(),
                _ => self.keep(true),
            }
        }
        (self.code, self.bare)
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    // Takes one character; `bare` gets it when it is not inside a literal. Line ends are always kept.
    fn keep(&mut self, bare: bool) {
        if let Some(c) = self.peek(0) {
            self.code.push(c);
            if bare || c == '\n' {
                self.bare.push(c);
            }
            self.at += 1;
        }
    }

    fn drop_one(&mut self) {
        if self.peek(0) == Some('\n') {
            self.code.push('\n');
            self.bare.push('\n');
        }
        self.at += 1;
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('*')) => depth += 1,
                ('*', Some('/')) => depth -= 1,
                _ => {
                    self.drop_one();
                    continue;
                }
            }
            self.at += 2;
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.keep(true);
        while let Some(c) = self.peek(0) {
            match c {
                '\\' => {
                    self.keep(false);
                    self.keep(false);
                }
                '"' => return self.keep(true),
                _ => self.keep(false),
            }
        }
    }

    fn after_word(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.chars.get(at));
        before.is_some_and(|c| c.is_alphanumeric() && *c != 'b' && *c != 'c' || *c == '_')
    }

    // The number of `#` of a raw string that begins here.
    fn raw_fence(&self) -> Option<usize> {
        let fence = self.chars.iter().skip(self.at + 1).take_while(|c| **c == '#').count();
        (self.peek(fence + 1) == Some('"')).then_some(fence)
    }

    fn raw_string(&mut self) {
        let fence = self.raw_fence().unwrap_or(0);
        for _ in 0..fence + 2 {
            self.keep(true);
        }
        while let Some(c) = self.peek(0) {
            if c == '"' && (1..=fence).all(|ahead| self.peek(ahead) == Some('#')) {
                for _ in 0..=fence {
                    self.keep(true);
                }
                return;
            }
            self.keep(false);
        }
    }

    // A quote begins a character, not a lifetime, when it is closed at once or holds an escape.
    fn is_char(&self) -> bool {
        self.peek(1) == Some('\\') || self.peek(2) == Some('\'')
    }

    fn char_literal(&mut self) {
        self.keep(true);
        if self.peek(0) == Some('\\') {
            self.keep(false);
        }
        self.keep(false);
        while self.peek(0).is_some_and(|c| c != '\'') {
            self.keep(false);
        }
        self.keep(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(text: &str) -> (String, String) {
        let source = Source::new("x.rs", text);
        (source.code, source.bare)
    }

    #[test]
    fn comments_go_and_strings_stay_in_code_alone() {
        let (code, bare) = apart("a(\"x // y\"); // z\n/* b /* c */ \n d */ e('\"', r#\"f\"g\"#, b'\\'', &'a h)");
        assert_eq!(code, "a(\"x // y\"); \n\n e('\"', r#\"f\"g\"#, b'\\'', &'a h)");
        assert_eq!(bare, "a(\"\"); \n\n e('', r#\"\"#, b'', &'a h)");
    }

    #[test]
    fn tests_are_no_shipped_code_wherever_they_stand() {
        let text = "fn a() {}\n#[cfg(test)]\n#[path = \"b.rs\"]\nmod b;\nfn c() {}\nimpl D {\n    #[cfg(test)]\n    fn e() {\n        f();\n    }\n}\n#[cfg(test)]\nmod tests {\n    g();\n}\nfn h() {}\n";
        let source = Source::new("x.rs", text);
        let left: Vec<_> = source.code.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(left, ["fn a() {}", "fn c() {}", "impl D {", "}", "fn h() {}"]);
        assert_eq!(source.lines, 5);
        assert_eq!(source.places("fn h"), ["x.rs:16"]);
    }

    #[test]
    fn a_test_file_is_known_by_its_place_or_name() {
        for path in ["tests/src/lib.rs", "sim/tests/wire/main.rs", "a/src/tests.rs", "a/src/b_tests.rs"] {
            assert!(Source::new(path, "").is_test(), "{path}");
        }
        assert!(!Source::new("a/src/test_of_time.rs", "").is_test());
    }
}
