//! Service times: accepted spellings, displayed spellings, and errors.

use std::io;

use nebula_workload::ServiceTime;

fn parse(text: &str) -> Result<ServiceTime, String> {
    text.parse().map_err(|error: nebula_workload::WorkloadError| error.to_string())
}

#[test]
fn spellings_are_shown_as_they_are_read() {
    for text in [
        "fixed:1us",
        "exp:1.5us",
        "uniform:0ns-2us",
        "uniform:1us-1us",
        "bimodal:500ns@0.9,5.5us@0.1",
        "bimodal:1us@0.25,2us@0.25,3us@0.5",
        "lognormal:mean=1us,sigma=1.5",
        "lognormal:mean=1us,scv=4",
        "gev:loc=181.5ns,scale=50ns,shape=0.65",
        "gev:loc=181.5ns,scale=50ns,shape=-0.1",
        "pareto:min=500ns,alpha=1.5",
        "pareto:min=500ns,alpha=1.5,max=1ms",
        "fixed:300ns+exp:300ns",
        "exp:1us+exp:2us+exp:3us",
        "mix:get=0.995*exp:1us;scan=0.005*fixed:500us",
        "mix:get=0.5*fixed:300ns+exp:300ns;a scan=0.5*bimodal:1us@0.5,2us@0.5",
    ] {
        let service = parse(text).unwrap();
        assert_eq!(service.to_string(), text);
        assert_eq!(parse(&service.to_string()), Ok(service), "{text}");
    }
}

#[test]
fn other_spellings_are_shown_in_the_usual_one() {
    for (text, shown) in [
        ("fixed:1000ns", "fixed:1us"),
        (" exp: 1 us ", "exp:1us"),
        ("uniform:0s-2000ns", "uniform:0ns-2us"),
        ("bimodal:5500ns@1e-1 , 500ns @ 0.9", "bimodal:5.5us@0.1,500ns@0.9"),
        ("lognormal:sigma=1.50,mean=1us", "lognormal:mean=1us,sigma=1.5"),
        ("pareto: max=1ms, alpha=2.0, min=1us", "pareto:min=1us,alpha=2,max=1ms"),
        ("fixed:1us + exp:1us", "fixed:1us+exp:1us"),
        ("mix: get = 0.5 * exp:1us ; set = 0.5 * exp:1us", "mix:get=0.5*exp:1us;set=0.5*exp:1us"),
    ] {
        assert_eq!(parse(text).unwrap().to_string(), shown);
    }
}

const ANY: &str = "one of fixed, exp, uniform, bimodal, lognormal, gev, pareto, trace, mix, such as exp:1us";
const FIXED: &str = "fixed:TIME such as fixed:1us";
const EXP: &str = "exp:TIME such as exp:1us";
const UNIFORM: &str = "uniform:FIRST-LAST, the shorter time first, such as uniform:0ns-2us";
const BIMODAL: &str = "two or more TIME@SHARE such as bimodal:500ns@0.9,5500ns@0.1";
const LOGNORMAL: &str = "lognormal:mean=TIME,sigma=NUMBER or scv=NUMBER, such as lognormal:mean=1us,sigma=1.5";
const GEV: &str = "gev:loc=TIME,scale=TIME,shape=NUMBER such as gev:loc=181.5ns,scale=50ns,shape=0.65";
const PARETO: &str =
    "pareto:min=TIME,alpha=NUMBER, optionally with a longer max=TIME, such as pareto:min=500ns,alpha=1.5";
const TRACE: &str = "trace:FILE, a name without + and ;";
const MIX: &str = "each type once, as NAME=SHARE*SERVICE, such as mix:get=0.995*exp:1us;scan=0.005*fixed:500us";

#[test]
fn errors_name_the_expected_spelling() {
    for (text, part, expected) in [
        ("", "", ANY),
        ("1us", "1us", ANY),
        ("Exp:1us", "Exp:1us", ANY),
        ("gamma:1us", "gamma:1us", ANY),
        ("exp:1us+", "", ANY),
        ("exp:1us+1us", "1us", ANY),
        ("fixed:", "fixed:", FIXED),
        ("fixed:-1us", "fixed:-1us", FIXED),
        ("fixed:1", "fixed:1", FIXED),
        ("fixed:1us+exp:fast", "exp:fast", EXP),
        ("exp:0ns", "exp:0ns", EXP),
        ("exp:99999999999999s", "exp:99999999999999s", EXP),
        ("uniform:1us", "uniform:1us", UNIFORM),
        ("uniform:2us-1us", "uniform:2us-1us", UNIFORM),
        ("bimodal:1us@1", "bimodal:1us@1", BIMODAL),
        ("bimodal:1us@0.5,2us", "bimodal:1us@0.5,2us", BIMODAL),
        ("bimodal:1us@0.5,2us@half", "bimodal:1us@0.5,2us@half", BIMODAL),
        ("bimodal:1us@nan,2us@1", "bimodal:1us@nan,2us@1", BIMODAL),
        ("lognormal:1us", "lognormal:1us", LOGNORMAL),
        ("lognormal:mean=1us", "lognormal:mean=1us", LOGNORMAL),
        ("lognormal:mean=0ns,sigma=1", "lognormal:mean=0ns,sigma=1", LOGNORMAL),
        ("lognormal:mean=1us,sigma=1,scv=1", "lognormal:mean=1us,sigma=1,scv=1", LOGNORMAL),
        ("lognormal:mean=1us,sigma=1,sigma=1", "lognormal:mean=1us,sigma=1,sigma=1", LOGNORMAL),
        ("lognormal:mean=1us,sigma=inf", "lognormal:mean=1us,sigma=inf", LOGNORMAL),
        ("gev:loc=1us,scale=1us", "gev:loc=1us,scale=1us", GEV),
        ("gev:loc=1us,scale=0us,shape=0.1", "gev:loc=1us,scale=0us,shape=0.1", GEV),
        ("gev:loc=1us,scale=1us,shape=0.1,tail=1", "gev:loc=1us,scale=1us,shape=0.1,tail=1", GEV),
        ("pareto:min=0ns,alpha=2", "pareto:min=0ns,alpha=2", PARETO),
        ("pareto:min=1us,alpha=2,max=1us", "pareto:min=1us,alpha=2,max=1us", PARETO),
        ("trace:", "trace:", TRACE),
        ("mix:", "mix:", MIX),
        ("mix:exp:1us", "mix:exp:1us", MIX),
        ("mix:=1*exp:1us", "mix:=1*exp:1us", MIX),
        ("mix:a=exp:1us", "mix:a=exp:1us", MIX),
        ("mix:a=half*exp:1us", "mix:a=half*exp:1us", MIX),
        ("mix:a=0.5*exp:1us;a=0.5*exp:1us", "mix:a=0.5*exp:1us;a=0.5*exp:1us", MIX),
        ("mix:a=1*exp:slow", "exp:slow", EXP),
        ("mix:a=1*mix:b=1*exp:1us", "mix:b=1*exp:1us", ANY),
        ("exp:1us+mix:a=1*exp:1us", "mix:a=1*exp:1us", ANY),
    ] {
        let said = format!("service time {part:?} is not understood: write {expected}");
        assert_eq!(parse(text).expect_err(text), said);
    }
}

#[test]
fn numbers_out_of_range_are_refused() {
    for (text, said) in [
        ("bimodal:1us@0.9,2us@0.05", "sum of shares 0.9500000000000001 is out of range: use shares that add up to 1"),
        ("bimodal:1us@0.9,2us@0.1000001", "sum of shares 1.0000001 is out of range: use shares that add up to 1"),
        ("bimodal:1us@1.5,2us@-0.5", "share 1.5 is out of range: use 0 to 1"),
        ("mix:a=0.5*exp:1us", "sum of shares 0.5 is out of range: use shares that add up to 1"),
        ("lognormal:mean=1us,sigma=-1", "lognormal sigma -1 is out of range: use 0 or more, up to a sigma of 10"),
        ("lognormal:mean=1us,sigma=11", "lognormal sigma 11 is out of range: use 0 or more, up to a sigma of 10"),
        ("lognormal:mean=1us,scv=-0.5", "lognormal scv -0.5 is out of range: use 0 or more, up to a sigma of 10"),
        ("lognormal:mean=1us,scv=-2", "lognormal scv -2 is out of range: use 0 or more, up to a sigma of 10"),
        ("gev:loc=1us,scale=1us,shape=-2", "gev shape -2 is out of range: use -1 or more, below 1"),
        ("pareto:min=1us,alpha=0,max=1ms", "pareto alpha 0 is out of range: use 0.01 to 1000"),
        ("fixed:0ns", "mean service time in ps 0 is out of range: use times above 0"),
        ("bimodal:0ns@1,1us@0", "mean service time in ps 0 is out of range: use times above 0"),
    ] {
        assert_eq!(parse(text).expect_err(text), said);
    }
    assert!(parse("bimodal:1us@0.8910891089,2us@0.1089108911").is_ok());
}

#[test]
fn infinite_means_are_refused() {
    for (text, part, expected) in [
        ("gev:loc=1us,scale=1us,shape=1", "gev:loc=1us,scale=1us,shape=1", "use a shape below 1"),
        ("exp:1us+pareto:min=1us,alpha=1", "pareto:min=1us,alpha=1", "use an alpha above 1, or give a max"),
        ("mix:a=1*pareto:min=1us,alpha=0.5", "pareto:min=1us,alpha=0.5", "use an alpha above 1, or give a max"),
    ] {
        assert_eq!(parse(text).expect_err(text), format!("service time {part:?} has no mean: {expected}"));
    }
}

#[test]
fn only_the_caller_opens_files() {
    let said = "service time \"trace:day.csv\" names a file, which cannot be used here: write a law such as exp:1us";
    assert_eq!(parse("trace:day.csv"), Err(said.to_owned()));
    let mut asked = Vec::new();
    let open = |name: &str| {
        asked.push(name.to_owned());
        Ok(io::Cursor::new("1000\n"))
    };
    let text = "mix:a=0.5*trace:a.csv;b=0.5*trace:/tmp/b c.csv+exp:1us";
    let service = ServiceTime::parse_with(text, open).unwrap();
    assert_eq!(asked, ["a.csv", "/tmp/b c.csv"]);
    assert_eq!((service.to_string().as_str(), service.mean_ps()), (text, 1.5e6));
}
