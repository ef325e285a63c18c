#!/bin/sh
# What the program with the tiers prints, for a test of who reads it.
cat <<'END'
{"kind":"clients","threads":"worker","edges":[{"to":"staff","replied":40,"refused":2,"failed":0,"latency_us_p50":300.0,"latency_us_p99":900.0,"refusal_us_p50":80.0}]}
{"kind":"tier","threads":"worker","tier":"staff","interval_ms":250.0,"served":40,"refused":0,"waiting":0,"edges":[{"to":"airport","replied":38,"refused":2,"failed":0,"latency_us_p50":100.0,"latency_us_p99":200.0,"refusal_us_p50":30.0}]}
{"kind":"load","threads":"worker","offered_rps":200.0,"replied_rps":190.5,"offered":42,"replied":40,"refused":2,"failed":0,"latency_us_p50":300.0,"latency_us_p99":901.5,"meets_slo":true}
{"kind":"highest","threads":"worker","rps":200.0,"missed_rps":400.0}
END
