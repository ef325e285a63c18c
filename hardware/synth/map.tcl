# Maps one module onto the standard cells of a liberty file with yosys: `yosys -c map.tcl`, driven by `cargo hw synth`.
#
# From the environment: RTL (files), TOP, PARAMETERS (NAME VALUE NAME VALUE …), LIBERTY, NETLIST (file to write), WINDOW.
# Memories stay memories, which `stat` does not price; with WINDOW=1 the bit vectors (words of 32 bits or more, up to 256 of them)
# become flops with their multiplexers, so that a path through them is timed as a whole.
# A module with `keep_hierarchy` is mapped once for each of its sizes, and joined with the others when all are mapped: a CAM of many entries.
yosys -import
# The environment is read before `yosys -import` could shadow anything of Tcl's.
foreach name {RTL TOP PARAMETERS LIBERTY NETLIST WINDOW} { set $name $::env($name) }

foreach file $RTL { read_verilog -sv $file }
foreach {name value} $PARAMETERS { chparam -set $name $value $TOP }
hierarchy -check -top $TOP
yosys rename -top $TOP
yosys proc
flatten
opt
wreduce
opt
# A latch is a mistake everywhere in this design: a combinational block that forgets a case.
select -assert-none t:\$dlatch t:\$adlatch t:\$dlatchsr
memory -nomap
opt_clean
# What all words are compared with at once, as in a CAM, is no memory that a generator makes: flops.
select t:\$mem_v2 r:RD_PORTS>12 %i
memory_map
select -clear
tee -o $NETLIST.memories dump t:\$mem_v2
if {$WINDOW} {
  select t:\$mem_v2 r:WIDTH>=32 %i r:SIZE<=256 %i
  memory_map
  select -clear
}
opt -fine
techmap
opt -fast
dfflibmap -liberty $LIBERTY
# Mapped by delay, then buffered at 4 sinks, and sized, each input of the logic driven by a cell as weak as a flop: without that, a net of many
# sinks decides the path.
abc -liberty $LIBERTY -constr hardware/synth/driven.constr -script +strash\;ifraig\;dch,-f\;map,-D,1\;topo\;buffer,-N,4\;topo\;upsize,-D,1\;dnsize,-D,1
opt_clean
# The copies of a word for several readers: a buffer each.
select A:keep_hierarchy
insbuf -buf BUFX4 A Y
select -clear
setattr -mod -unset keep_hierarchy *
flatten
opt_clean
expose -evert t:\$mem_v2
setundef -zero
splitnets -ports -format __
opt_clean -purge
write_verilog -noattr -noexpr $NETLIST
tee -o $NETLIST.stat stat -liberty $LIBERTY
