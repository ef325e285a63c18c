# Maps one module onto the cells of a Lattice ECP5 with yosys: `yosys -c ecp5.tcl`, driven by `cargo hw synth`.
#
# From the environment: RTL (files), TOP, PARAMETERS (NAME VALUE NAME VALUE …), NETLIST (whose name `.ecp5` is added to).
yosys -import
foreach name {RTL TOP PARAMETERS NETLIST} { set $name $::env($name) }

foreach file $RTL { read_verilog -sv $file }
foreach {name value} $PARAMETERS { chparam -set $name $value $TOP }
hierarchy -check -top $TOP
yosys rename -top $TOP
synth_ecp5 -top $TOP
tee -o $NETLIST.ecp5 stat
