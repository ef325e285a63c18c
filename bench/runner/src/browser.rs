//! Headless Chromium: what it makes of a page, and charts that it draws.

use std::path::Path;
use std::process::Stdio;

use nebula_shell::{Attempt, Failure, Shell, files};

/// What the browser is called.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Where the library that draws lies, and the function that unpacks it.
const ASSETS: [&str; 2] = ["core/nebula-ui/assets/vega/vega.js.gz", "core/nebula-ui/src/report/library.js"];

/// A browser of this machine.
pub struct Browser(&'static str);

impl Browser {
    /// The first that is installed.
    pub fn find(shell: &Shell) -> Option<Self> {
        NAMES.into_iter().find(|name| shell.has(name, &["--version"])).map(Self)
    }

    /// The document at `url` once its scripts have run for so long, in a window of that width.
    pub fn dump(&self, shell: &Shell, url: &str, (width, ms): (u32, u32), is_dark: bool) -> Result<String, Failure> {
        let mut command = shell.command(self.0);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
        command.args([format!("--virtual-time-budget={ms}"), format!("--window-size={width},1600")]);
        if is_dark {
            command.arg("--blink-settings=preferredColorScheme=0");
        }
        // It says much about buses that a machine without a desktop lacks.
        let output = command.arg(url).stderr(Stdio::null()).output().attempt("start the browser")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The chart that Vega-Lite draws by a specification, with a title for screen readers.
pub(crate) fn chart(shell: &Shell, title: &str, spec: &serde_json::Value) -> Result<String, Failure> {
    let browser =
        Browser::find(shell).ok_or_else(|| Failure::new("no Chromium to draw with: apt-get install chromium"))?;
    let folder = shell.target().join("pages");
    let page = folder.join("chart.html");
    files::write(&page, page_of(shell.root(), spec)?)?;
    let dumped = browser.dump(shell, &format!("file://{}", page.display()), (800, 20_000), false)?;
    let svg = dumped.split_once("<svg").and_then(|(_, rest)| rest.split_once("</svg>"));
    let (svg, _) = svg.ok_or_else(|| Failure::new(format!("{title}: the browser has drawn nothing")))?;
    let (head, body) = svg.split_once('>').unwrap_or((svg, ""));
    let space = if head.contains("xmlns=") { "" } else { " xmlns=\"http://www.w3.org/2000/svg\"" };
    Ok(format!("<svg{space}{head}>\n<title>{title}</title>{body}</svg>\n"))
}

/// A page that unpacks the library and draws.
fn page_of(root: &Path, spec: &serde_json::Value) -> Result<String, Failure> {
    let [library, unpack] = ASSETS.map(|path| std::fs::read(root.join(path)).attempt(format!("read {path}")));
    let packed: String = library?.iter().map(|byte| format!("{byte:02x}")).collect();
    let unpack = String::from_utf8_lossy(&unpack?).into_owned();
    // The page of a report has the library in base64; here it is in hexadecimal digits.
    let of_digits =
        "window.atob = (text) => text.match(/../g).map((two) => String.fromCharCode(parseInt(two, 16))).join(\"\");";
    Ok(format!(
        "<!doctype html><meta charset=\"utf-8\"><div id=\"chart\"></div><script type=\"text/plain\" id=\"library\">{packed}</script>\n\
         <script>{of_digits}\n{unpack}\nload().then(() => vegaEmbed(\"#chart\", {spec}, {{ renderer: \"svg\", actions: false }}));</script>"
    ))
}
