# Makes one circuit of a harness and the module that it checks, or of a module with its contract, for ABC: `yosys -c circuit.tcl`, driven by
# `cargo hw formal`.
#
# From the environment: RTL (files), TOP, PROPERTY (the `ifdef` around the assertion that is proved), CIRCUIT (file to write).
# What has no value before reset begins with any.
yosys -import
foreach name {RTL TOP PROPERTY CIRCUIT} { set $name $::env($name) }

foreach file $RTL { read_verilog -sv -formal -D $PROPERTY $file }
# What synthesis maps by itself is one with the rest here.
hierarchy -check -top $TOP
setattr -mod -unset keep_hierarchy *
prep -flatten -top $TOP
# An output would be one more assertion, to ABC.
yosys delete -output o:*
async2sync
chformal -assume -early
memory_map
setundef -undriven -zero
opt -full
techmap
opt -fast
dffunmap
abc -g AND -fast
opt_clean
write_aiger -zinit -I -B $CIRCUIT
