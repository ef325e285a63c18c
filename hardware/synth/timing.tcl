# Times a mapped module with OpenSTA, and estimates its power: `sta -exit timing.tcl`, driven by `cargo hw synth`.
#
# From the environment: LIBERTY, NETLIST, TOP. One clock; ports change at its edge and are wanted at the next one.
foreach name {LIBERTY NETLIST TOP} { set $name $::env($name) }
read_liberty $LIBERTY
read_verilog $NETLIST
link_design $TOP
create_clock -name clk -period 10 [get_ports clk*]
set_input_delay 0 -clock clk [all_inputs]
set_output_delay 0 -clock clk [all_outputs]
# What a memory that is kept apart is assumed to need from the edge to its data: half a cycle of the goal, in ns at 180 nm.
foreach port [get_ports -quiet *RD_DATA*] { set_input_delay 2 -clock clk $port }
# The configuration does not change after reset, and a memory's clock is no path.
foreach name {*_CLK* policy_i bound_i* cores_i* buffer_slots_i* mtu_i* rpc_bytes_max_i* reassembler_entries_i* entries_i* queue_bound*
    *timeout_i* seed_i* first_when_empty_i slots_per_rpc_max_i* mask_i* lifetime_i* rst_ni} {
  foreach port [get_ports -quiet $name] {
    if {[get_property $port direction] eq "input"} { set_false_path -from $port } else { set_false_path -to $port }
  }
}
report_checks -path_delay max -digits 4
report_power -digits 6
exit
