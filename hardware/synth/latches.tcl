# Fails where a module of the RTL has a latch, with the parameters that it has by default: `yosys -c latches.tcl`.
#
# From the environment: RTL (files). A latch is a combinational block that forgets a case.
yosys -import
foreach file $::env(RTL) { read_verilog -sv $file }
yosys proc
select -assert-none t:\$dlatch t:\$adlatch t:\$dlatchsr
