//! `fleetwatchctl chat` on a person's terminal and in a pipe (issue line 3.17): questions, a proposal, its outcome when
//! it happens, and the ways out.

#[cfg(test)]
mod tests {
    use fleetwatch_tests::binary;
    use fleetwatch_tests::demo::PROMPT;
    use fleetwatch_tests::terminal::{CTRL_C, CTRL_D, Terminal};
    use fleetwatch_tests::world::{World, must};
    use protocol::ids::ProposalNumber;
    use protocol::propose::ProposalState;
    use std::path::Path;
    use std::thread::sleep;
    use std::time::Duration;

    const PATIENCE: Duration = Duration::from_secs(60);
    const SOON: Duration = Duration::from_secs(6);
    const READY: &str = "Which rooms aren't ready?";

    struct Chat(Terminal);

    impl Chat {
        #[track_caller]
        fn start(world: &World, settings: &[(&str, &str)]) -> Self {
            Self::start_at(world, settings, PROMPT)
        }

        #[track_caller]
        fn start_at(world: &World, settings: &[(&str, &str)], prompt: &str) -> Self {
            let run = world.folder().join("run").display().to_string();
            let mut all = vec![("TERM", Path::new("xterm"))];
            all.extend(settings.iter().map(|(name, value)| (*name, Path::new(*value))));
            let words = ["--run-dir", &run, "chat"];
            let terminal = must(Terminal::start(&binary("fleetwatchctl"), &words, &all), "a terminal");
            let mut chat = Self(terminal);
            chat.until(prompt);
            chat
        }

        #[track_caller]
        fn until(&mut self, text: &str) -> String {
            must(self.0.wait_for(text, PATIENCE), text)
        }

        #[track_caller]
        fn enter(&mut self, line: &str) -> String {
            must(self.0.press(&format!("{line}\r")), "the terminal");
            self.until(PROMPT)
        }

        #[track_caller]
        fn leave(&mut self, keys: &str) -> i32 {
            must(self.0.press(keys), "the terminal");
            must(self.0.wait_for_end(PATIENCE), "its end")
        }
    }

    #[test]
    fn a_person_asks_proposes_and_is_told_the_outcome_while_typing_the_next_question() {
        let world = World::builder().start();
        let mut chat = Chat::start(&world, &[]);
        let answer = chat.enter(READY);
        for words in ["reading get_devices_in_my_team", "Not ready: Aula 102", "(Answered by the model"] {
            assert!(answer.contains(words), "{words}: {answer}");
        }
        let proposed = chat.enter("Start recording in Hall A");
        for words in ["Proposal 1", "Start recording in Hall A", "20301000003-1", "approvals approve 1"] {
            assert!(proposed.contains(words), "{words}: {proposed}");
        }
        let approve = chat.enter("/approve 1");
        assert!(approve.contains("Nothing typed in the chat does that") && approve.contains("approvals approve 1"));
        assert_eq!(world.writes(), []);

        must(chat.0.press("Which rooms aren't re"), "the terminal");
        let number = must(ProposalNumber::new(1).ok_or("no number"), "a number");
        must(world.control().approve(number), "an approval elsewhere");
        let told = chat.until(PROMPT);
        assert!(told.contains("Proposal 1: ok.") && told.contains("channel 1 is recording"), "{told}");
        assert!(told.contains("approvals undo 1"), "{told}");
        // What was typed stands there again, and goes on.
        let rest = chat.until("Which rooms aren't re");
        assert!(rest.len() < 60, "{rest}");
        let answer = chat.enter("ady?");
        assert!(answer.contains("Not ready: Aula 102"), "{answer}");
        // The arrow brings it back whole.
        let again = chat.enter("\u{1b}[A");
        assert!(again.contains(READY) && again.contains("Not ready: Aula 102"), "{again}");
        assert!(chat.enter("/approvals").contains("Nothing waits"));
        assert!(chat.enter("/status").contains("Nothing is wrong."));
        assert!(chat.enter("/help").contains("/history TEXT"));
        assert_eq!(chat.leave(CTRL_D), 0);
        assert_eq!(world.writes().len(), 1);
    }

    #[test]
    fn ctrl_c_cancels_the_turn_then_the_line_and_then_leaves() {
        let world = World::builder().start();
        let mut chat = Chat::start(&world, &[]);
        must(chat.0.press(&format!("{READY} SIM:slow\r")), "the terminal");
        chat.until("reading");
        sleep(Duration::from_millis(500));
        must(chat.0.press(CTRL_C), "the terminal");
        // The scripted model would have answered after 20 s.
        let cancelled = must(chat.0.wait_for(PROMPT, SOON), "the prompt");
        assert!(cancelled.contains("Cancelled"), "{cancelled}");
        must(chat.0.press("half a line"), "the terminal");
        chat.until("half a line");
        must(chat.0.press(CTRL_C), "the terminal");
        chat.until(PROMPT);
        let answer = chat.enter(READY);
        assert!(answer.contains("Not ready: Aula 102"), "{answer}");
        assert_eq!(chat.leave(CTRL_C), 0);
        assert!(world.control().history().iter().all(|row| row.state != ProposalState::Ok));
    }

    #[test]
    fn no_color_means_no_attributes_and_a_narrow_terminal_is_kept() {
        let world = World::builder().start();
        let attributes = |text: &str| text.contains("\u{1b}[1m") || text.contains("\u{1b}[2m");
        let mut plain = Chat::start(&world, &[("NO_COLOR", "1"), ("COLUMNS", "60")]);
        let card = plain.enter("Start recording in Hall A");
        assert!(card.contains("20301000003-1"), "{card}");
        let facts = card.lines().filter(|line| !line.contains("--run-dir"));
        assert!(facts.into_iter().all(|line| line.chars().count() <= 75), "{card}");
        assert_eq!(plain.leave("/quit\r"), 0);
        assert!(!attributes(&plain.0.shown()), "{}", plain.0.shown());
        let mut painted = Chat::start(&world, &[]);
        painted.enter(READY);
        assert_eq!(painted.leave(CTRL_D), 0);
        assert!(attributes(&painted.0.shown()), "{}", painted.0.shown());
    }

    // A question in pieces, so that every piece is drawn for itself.
    #[track_caller]
    fn typed_slowly(chat: &mut Chat, question: &str) {
        for word in question.split_inclusive(' ') {
            must(chat.0.press(word), "the terminal");
            sleep(Duration::from_millis(30));
        }
    }

    #[test]
    fn at_forty_and_twenty_columns_the_line_stays_on_its_row_and_nothing_hostile_is_echoed() {
        let world = World::builder().start();
        let question = "Which of all the many rooms of this fleet aren't ready?";
        let hostile = "a\u{1b}[2Jb\u{202e}c\u{9b}31md\u{200b}e\0f\u{7}g";
        for (columns, prompt) in [("40", PROMPT), ("20", "> ")] {
            let mut chat = Chat::start_at(&world, &[("NO_COLOR", "1"), ("TERMINAL_COLUMNS", columns)], prompt);
            typed_slowly(&mut chat, question);
            let last = must(chat.0.wait_for("ready?", PATIENCE), "the last word");
            assert!(!last.contains('\n'), "typing began a new row: {last:?}");
            must(chat.0.press("\r"), "the terminal");
            let sent = must(chat.0.wait_for("\n", PATIENCE), "the line");
            assert!(sent.contains(question), "{sent:?}");
            let answer = must(chat.0.wait_for(&format!("\n{prompt}"), PATIENCE), "the answer");
            assert!(answer.contains("Aula 102"), "{answer}");
            // The keyboard's own escape sequences are keys, and everything that moves or hides is dropped.
            must(chat.0.press(&format!("/{hostile}\r")), "the terminal");
            let said = must(chat.0.wait_for(&format!("\n{prompt}"), PATIENCE), "a refusal");
            assert!(said.contains("Not understood") && said.contains("/abc31mdefg"), "{said:?}");
            assert!(!said.contains(['\u{202e}', '\u{9b}', '\u{200b}', '\0', '\u{7}']), "{said:?}");
            assert!(!said.contains("\u{1b}[2J"), "{said:?}");
            assert_eq!(chat.leave(CTRL_D), 0);
        }
        assert_eq!(world.writes(), []);
    }

    #[test]
    fn hostile_lines_from_a_pipe_are_refused_in_words_and_never_come_back_raw() {
        let world = World::builder().start();
        let long = "x".repeat(200_000);
        let lines = format!(
            "/\u{1b}[2J\u{202e}nonsense\0\nwhich \u{1b}]0;x\u{7} rooms\nwhich \u{202e}smoor\nwhich\0rooms\n{long}\n{READY}\n"
        );
        let output = world.ctl_piped(&["chat"], &lines);
        let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        let text = String::from_utf8_lossy(&both);
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert_eq!(text.matches("move the cursor or turn the text around").count(), 3, "{text}");
        for words in ["/\\u{1b}[2J\\u{202e}nonsense\\u{0}", "the question is too long", "Not ready: Aula 102"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(text.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{text:?}");
        let refused = world.ctl(&["ask", "which \u{1b}[31mrooms\u{2066}"]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(!String::from_utf8_lossy(&refused.stderr).contains('\u{1b}'), "{refused:?}");
        assert_eq!(world.writes(), []);
    }

    #[test]
    fn from_a_pipe_it_answers_line_by_line_and_writes_no_escape_sequence() {
        let world = World::builder().start();
        let output = world.ctl_piped(&["chat"], &format!("{READY}\nStart recording in Hall A\n/approve 1"));
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{text}");
        for words in ["Not ready: Aula 102", "Proposal 1", "Nothing typed in the chat does that"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains('\u{1b}'), "{text}");
        assert_eq!(world.writes(), []);
    }
}
