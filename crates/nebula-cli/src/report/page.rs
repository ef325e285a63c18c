//! The frame of every page: head, style sheet, figures and tables.

use super::chart::{Chart, PALETTE, hex};
use super::markup::escape;

/// Builds a page from top to bottom.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    title: String,
    body: String,
}

impl Page {
    /// Begins a page with its verdict and a line about the machine.
    pub(crate) fn new(title: &str, verdict: &str, machine: &str) -> Self {
        let body = format!(
            "<h1>{}</h1>\n<p class=\"verdict\">{}</p>\n<p class=\"quiet\">{}</p>\n",
            escape(title),
            escape(verdict),
            escape(machine)
        );
        Self { title: title.to_owned(), body }
    }

    /// Adds a warning, if there is one.
    #[must_use]
    pub(crate) fn warning(mut self, warning: Option<String>) -> Self {
        if let Some(warning) = warning {
            self.body.push_str(&format!("<p class=\"warning\" role=\"note\">{}</p>\n", escape(&warning)));
        }
        self
    }

    /// Adds charts side by side, or stacked in a narrow window.
    #[must_use]
    pub(crate) fn charts(mut self, figures: &[Figure]) -> Self {
        self.body.push_str("<div class=\"figures\">\n");
        for (number, figure) in figures.iter().enumerate() {
            self.body.push_str(&figure.to_html(&format!("chart{number}")));
        }
        self.body.push_str("</div>\n");
        self
    }

    /// Adds drawings side by side, each an `svg` element with its heading and its caption. They scroll horizontally in a narrow window.
    #[must_use]
    pub(crate) fn drawings(mut self, drawings: &[(String, String, String)]) -> Self {
        self.body.push_str("<div class=\"figures\">\n");
        for (heading, svg, caption) in drawings {
            self.body.push_str(&format!(
                "<figure>\n<h2>{0}</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">{svg}</div>\n\
                 <figcaption>{1}</figcaption>\n</figure>\n",
                escape(heading),
                escape(caption)
            ));
        }
        self.body.push_str("</div>\n");
        self
    }

    /// Adds a heading.
    #[must_use]
    pub(crate) fn heading(mut self, text: &str) -> Self {
        self.body.push_str(&format!("<h2>{}</h2>\n", escape(text)));
        self
    }

    /// Adds a table, which scrolls horizontally in a narrow window.
    #[must_use]
    pub(crate) fn table(mut self, table: &Table) -> Self {
        self.body.push_str(&table.to_html());
        self
    }

    /// Adds a heading and a list of remarks.
    #[must_use]
    pub(crate) fn remarks(mut self, heading: &str, remarks: &[String]) -> Self {
        let items: String = remarks.iter().map(|remark| format!("<li>{}</li>\n", escape(remark))).collect();
        self.body.push_str(&format!("<h2>{}</h2>\n<ul>\n{items}</ul>\n", escape(heading)));
        self
    }

    /// The complete document. Its content security policy forbids loading any resource.
    pub(crate) fn finish(self, footer: &str) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>{}</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n<main>\n{}<footer>{}</footer>\n</main>\n</body>\n</html>\n",
            escape(&self.title),
            colors(),
            self.body,
            escape(footer),
        )
    }
}

/// A chart with a heading, a legend and a caption.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) chart: Chart,
    /// Samples, as `svg` elements, with their meaning.
    pub(crate) legend: Vec<(String, String)>,
    pub(crate) caption: String,
}

impl Figure {
    fn to_html(&self, id: &str) -> String {
        let meaning = |(sample, text): &(String, String)| format!("<li>{sample} {}</li>\n", escape(text));
        let legend: String = self.legend.iter().map(meaning).collect();
        format!(
            "<figure>\n<h2>{}</h2>\n{}<ul class=\"legend\">\n{legend}</ul>\n<figcaption>{}</figcaption>\n</figure>\n",
            escape(&self.chart.title),
            self.chart.to_svg(id),
            escape(&self.caption),
        )
    }
}

/// A table whose first column names the row.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) headings: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    fn to_html(&self) -> String {
        let headings: String =
            self.headings.iter().map(|heading| format!("<th scope=\"col\">{}</th>", escape(heading))).collect();
        let rows: String = self.rows.iter().map(|row| row_html(row)).collect();
        format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n<table>\n<caption><span>{0}</span></caption>\n\
             <thead><tr>{headings}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n",
            escape(&self.caption)
        )
    }
}

fn row_html(row: &[String]) -> String {
    let cells = row.iter().enumerate().map(|(column, cell)| match column {
        0 => format!("<th scope=\"row\">{}</th>", escape(cell)),
        _ => format!("<td>{}</td>", escape(cell)),
    });
    format!("<tr>{}</tr>\n", cells.collect::<String>())
}

/// The palette as variables of the style sheet, and the rules that replace the colors of charts in dark mode.
fn colors() -> String {
    let (mut on_light, mut on_dark, mut replaced) = (String::new(), String::new(), String::new());
    for (name, light, dark) in PALETTE {
        let (light, dark) = (hex(light), hex(dark));
        on_light.push_str(&format!("--{name}:{light};"));
        on_dark.push_str(&format!("--{name}:{dark};"));
        replaced.push_str(&format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}\n"));
    }
    format!(":root{{{on_light}}}\n@media (prefers-color-scheme:dark){{\n:root{{{on_dark}}}\n{replaced}}}\n")
}

const STYLE: &str = "\
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:76rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem}
h2{font-size:1.1rem;margin:0 0 .5rem}
.verdict{font-size:1.2rem;line-height:1.45;margin:0 0 .75rem;max-width:60rem;text-wrap:pretty}
.quiet,footer,figcaption,caption{color:var(--muted);font-size:.9rem}
.quiet{max-width:60rem;margin:0 0 2rem;overflow-wrap:anywhere}
.warning{max-width:60rem;margin:-1rem 0 2rem;padding:.5rem 1rem;border-left:4px solid var(--orange)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:2rem;margin:0 0 2.5rem}
figure{margin:0;min-width:0;max-width:44rem}
figure>svg{display:block;width:100%;height:auto}
svg text{font-family:inherit;paint-order:stroke;stroke:var(--paper);stroke-width:4px}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.15rem 1.25rem;margin:.5rem 0;padding:0;font-size:.9rem}
.legend li{display:flex;align-items:center;gap:.5rem}
.sample{width:40px;height:16px;flex:none}
.scroll{overflow-x:auto;margin:0 0 2.5rem}
figure .scroll{margin:0 0 .5rem}
.scroll>svg{display:block;width:100%;min-width:34rem;height:auto}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums;width:100%}
caption{text-align:left;padding:0 0 .5rem}
caption span{display:inline-block;position:sticky;left:0;max-width:calc(100vw - 2rem)}
th,td{text-align:right;padding:.35rem .75rem;white-space:pre;border-bottom:1px solid var(--grid)}
thead th{vertical-align:bottom;white-space:normal;min-width:4.5rem;border-bottom:2px solid var(--muted)}
th:first-child{text-align:left;padding-left:0;position:sticky;left:0;background:var(--paper)}
tbody th{font-weight:600}
ul{padding-left:1.2rem;max-width:60rem}
li{margin:.3rem 0}
footer{margin-top:2.5rem;border-top:1px solid var(--grid);padding-top:.75rem}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_cannot_become_markup() {
        let nasty = "<script>alert('1')</script> & \"more\"";
        let table = Table { caption: nasty.into(), headings: vec![nasty.into()], rows: vec![vec![nasty.into(); 2]] };
        let page = Page::new(nasty, nasty, nasty).table(&table).remarks(nasty, &[nasty.into()]).finish(nasty);
        assert!(!page.contains("<script") && !page.contains("alert('"));
        assert!(page.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;more&quot;"));
    }

    #[test]
    fn in_the_dark_every_color_of_a_chart_is_replaced() {
        let sheet = colors();
        for (_, light, dark) in PALETTE {
            for attribute in ["fill", "stroke"] {
                let rule = format!("[{attribute}=\"{}\"]{{{attribute}:{}}}", hex(light), hex(dark));
                assert!(sheet.contains(&rule), "{rule}");
            }
        }
    }
}
