//! The frame of every page: head, style sheet, figures and tables.

use data_encoding::BASE64;

use super::chart::{Chart, PALETTE, Sample, hex};
use super::markup::escape;
use crate::output::{self, Row};

/// Builds a page from top to bottom.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
    has_charts: bool,
}

impl Page {
    /// Begins a page with its verdict and a line about the machine.
    pub fn new(title: &str, verdict: &str, machine: &str) -> Self {
        let body = format!(
            "<h1>{}</h1>\n<p class=\"verdict\">{}</p>\n<p class=\"quiet\">{}</p>\n",
            escape(title),
            escape(verdict),
            escape(machine)
        );
        Self { title: title.to_owned(), body, has_charts: false }
    }

    /// Adds a warning, if there is one.
    #[must_use]
    pub fn warning(mut self, warning: Option<String>) -> Self {
        if let Some(warning) = warning {
            self.body.push_str(&format!("<p class=\"warning\" role=\"note\">{}</p>\n", escape(&warning)));
        }
        self
    }

    /// Adds charts side by side, or stacked in a narrow window.
    #[must_use]
    pub fn charts(mut self, figures: &[Figure]) -> Self {
        self.has_charts |= !figures.is_empty();
        let drawn: String = figures.iter().map(Figure::to_html).collect();
        self.body.push_str(&format!("<div class=\"figures\">\n{drawn}</div>\n"));
        self
    }

    /// Adds drawings side by side, each an `svg` element with its heading and its caption. They
    /// scroll horizontally in a narrow window.
    #[must_use]
    pub fn drawings(mut self, drawings: &[(String, String, String)]) -> Self {
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
    pub fn heading(mut self, text: &str) -> Self {
        self.body.push_str(&format!("<h2>{}</h2>\n", escape(text)));
        self
    }

    /// Adds a table, which scrolls horizontally in a narrow window, and a download of its cells.
    #[must_use]
    pub fn table(mut self, table: &Table) -> Self {
        self.body.push_str(&table.to_html());
        self.download("this table", "table.csv", &table.to_csv());
        self
    }

    /// Adds a download of all fields of the rows, named as in `--format csv`.
    #[must_use]
    pub fn data(mut self, rows: &[Row]) -> Self {
        self.download("all fields of these rows", "rows.csv", &output::csv(rows));
        self
    }

    fn download(&mut self, what: &str, file: &str, csv: &str) {
        let encoded: String = csv.bytes().map(in_address).collect();
        self.body.push_str(&format!(
            "<p class=\"data\"><a download=\"{file}\" href=\"data:text/csv;charset=utf-8,{encoded}\">Download {what} as CSV</a></p>\n"
        ));
    }

    /// Adds a heading and a list of remarks.
    #[must_use]
    pub fn remarks(mut self, heading: &str, remarks: &[String]) -> Self {
        let items: String = remarks.iter().map(|remark| format!("<li>{}</li>\n", escape(remark))).collect();
        self.body.push_str(&format!("<h2>{}</h2>\n<ul>\n{items}</ul>\n", escape(heading)));
        self
    }

    /// The complete document. Its content security policy forbids loading any resource.
    pub fn finish(self, footer: &str) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <title>{}</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n<main>\n{}<footer>{}</footer>\n</main>\n{}</body>\n</html>\n",
            escape(&self.title),
            colors(),
            self.body,
            escape(footer),
            if self.has_charts { scripts() } else { String::new() },
        )
    }
}

/// Nothing is loaded: scripts, styles and pictures are in the page. Vega compiles expressions.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:";

/// The library, compressed as in assets/, and the function `load` that unpacks it.
pub fn library() -> String {
    const LIBRARY: &[u8] = include_bytes!("../../assets/vega/vega.js.gz");
    let packed = BASE64.encode(LIBRARY);
    format!(
        "<script type=\"text/plain\" id=\"library\">{packed}</script>\n<script>\n{}</script>\n",
        include_str!("library.js")
    )
}

/// The library, and the script that draws each chart with it.
fn scripts() -> String {
    let shades: Vec<String> =
        PALETTE.iter().map(|&(_, light, dark)| format!("\"{}\":\"{}\"", hex(light), hex(dark))).collect();
    format!("{}<script>\nconst shades = {{{}}};\n{}</script>\n", library(), shades.join(","), include_str!("draw.js"))
}

/// A chart with a heading, a legend and a caption.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The chart.
    pub chart: Chart,
    /// Kinds of marks and their meaning.
    pub legend: Vec<(Sample, String)>,
    /// An explanation for readers.
    pub caption: String,
}

impl Figure {
    /// The chart as data, and its content in words for browsers that draw nothing.
    fn to_html(&self) -> String {
        format!(
            "<figure>\n<h2>{0}</h2>\n<div class=\"chart\" data-name=\"{0}\" data-words=\"{1}\"><noscript>{1}</noscript></div>\n\
             <script type=\"application/json\">{2}</script>\n<figcaption>{3}</figcaption>\n</figure>\n",
            escape(&self.chart.title),
            escape(&self.chart.description),
            in_script(&self.chart.to_vega(&self.legend).to_string()),
            escape(&format!("{}{}", self.caption, self.chart.remarks(&self.legend))),
        )
    }
}

/// Text within a `script` element: nothing in it ends the element.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

fn in_address(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b',' | b'-' | b'_' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    }
}

/// A table whose first column names the row.
#[derive(Clone, Debug)]
pub struct Table {
    /// An explanation for readers.
    pub caption: String,
    /// The headings of its columns.
    pub headings: Vec<String>,
    /// Its cells, row by row.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    fn to_csv(&self) -> String {
        let quoted = |cell: &String| format!("\"{}\"", cell.replace('"', "\"\""));
        let line = |cells: &Vec<String>| cells.iter().map(quoted).collect::<Vec<_>>().join(",");
        std::iter::once(&self.headings).chain(&self.rows).map(|cells| line(cells) + "\n").collect()
    }

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
        _ => format!("<td>{}</td>", with_half(cell)),
    });
    format!("<tr>{}</tr>\n", cells.collect::<String>())
}

/// Half the width of an interval is below its figure, so that many columns have room.
fn with_half(cell: &str) -> String {
    match cell.split_once(" ±") {
        Some((figure, half)) => format!("{} <small>±{}</small>", escape(figure), escape(half)),
        None => escape(cell),
    }
}

/// The palette as variables of the style sheet, and the rules for charts in dark mode.
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
.chart{width:100%;position:relative}
.scroll svg text{font-family:inherit;paint-order:stroke;stroke:var(--paper);stroke-width:4px}
.scroll{overflow-x:auto;margin:0 0 2.5rem}
figure .scroll{margin:0 0 .5rem}
.scroll>svg{display:block;width:100%;min-width:34rem;height:auto}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums;width:100%}
caption{text-align:left;padding:0 0 .5rem}
caption span{display:inline-block;position:sticky;left:0;max-width:calc(100vw - 2rem)}
th,td{text-align:right;padding:.35rem .4rem;white-space:pre-line;border-bottom:1px solid var(--grid)}
thead th{vertical-align:bottom;white-space:normal;font-size:.8rem;border-bottom:2px solid var(--muted)}
th:first-child{text-align:left;padding-left:0;position:sticky;left:0;background:var(--paper)}
tbody th{font-weight:600;white-space:nowrap}
td small{display:block;color:var(--muted);white-space:nowrap}
.data{margin:-1.5rem 0 2.5rem;font-size:.9rem}
a{color:var(--blue)}
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
        assert_eq!(in_script("{\"name\":\"</script>\"}"), "{\"name\":\"\\u003c/script>\"}");
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
