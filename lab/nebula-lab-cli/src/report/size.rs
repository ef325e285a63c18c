//! The page of `nebula size`: the answer in sentences, its rows, and how they were found.

use nebula_lab::Answer;

use super::page::Page;
use super::table;

pub(crate) fn render(answer: &Answer, footer: &str) -> String {
    let rows = &answer.rows;
    let caption = "± is half the 95 % confidence interval, relative to the figure.";
    let said = match &answer.said[..] {
        [] => "Room for a server, from its load".to_owned(),
        said => said.join(" "),
    };
    Page::new("Capacity", &said, "All figures are simulated or from a formula, and do not depend on this machine.")
        .warning(answer.notes.first().map(|note| note.trim_start_matches("note: ").to_owned()))
        .table(&table(caption, rows))
        .data(rows)
        .remarks("How this was found", &remarks(!answer.said.is_empty()))
        .finish(footer)
}

fn remarks(is_plan: bool) -> Vec<String> {
    let of_plan = [
        "The number of cores is the fewest of each server at which the p99 of all RPCs is within the SLO for certain: its whole 95 % interval. It is doubled until that is so, and then halved in between. A number at which it is undecided counts as too few.",
        "Load is the rate times the mean service time, divided by the cores of all servers. Each server gets an equal share of the rate, with arrivals as given, Poisson unless said.",
        "The highest rate is that of the highest load at which the p99 is within the SLO, found by the same simulation.",
        "With one server down the others get its share. Nothing is assumed of how long it stays down, nor of requests that it held.",
        "A row for each endpoint of the log has the latency of its RPCs, in the one queue of all. The SLO is of all RPCs.",
    ];
    let of_room = [
        "The receive buffer has room for ten times the mean number of waiting RPCs, and for those that the cores hold. It does not depend on the number of clients.",
        "The queue bound is the longest queue at which an arriving RPC meets the SLO with a probability of 99 %, if service times are exponential. Beyond it a server refuses at once.",
    ];
    let plan = if is_plan { &of_plan[..] } else { &[] };
    plan.iter().chain(&of_room).map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_testing::pages::assert_loads_nothing;
    use nebula_ui::output::Row;

    #[test]
    fn the_page_says_the_answer_first() {
        let row = Row::new().field("cores", 4_u64).shown("cores", "4");
        let said = vec!["4 cores keep a p99 of <10 µs>.".to_owned()];
        let page = render(&Answer { rows: vec![row], said, ..Answer::default() }, "made by a test");
        assert!(page.contains("<p class=\"verdict\">4 cores keep a p99 of &lt;10 µs&gt;.</p>"));
        assert!(page.contains("With one server down") && page.contains("rows.csv"));
        assert_loads_nothing(&page);
        assert!(!render(&Answer::default(), "made by a test").contains("With one server down"));
    }
}
