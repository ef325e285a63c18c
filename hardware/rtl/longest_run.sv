// Station 4, too: the longest run of free slots in a word, the first of several, in log2(Width)
// levels. Source: `longest_run` of core/nebula-nic/src/recv_buffer/scan.rs. Width is a power of
// two.
module longest_run #(
    parameter int Width = 64,
    localparam int LenW = $clog2(Width) + 1
) (
    input  logic [Width-1:0] used_i,
    output logic [LenW-1:0]  start_o,
    output logic [LenW-1:0]  slots_o,
    output logic [LenW-1:0]  prefix_o,  // free slots from the first on
    output logic [LenW-1:0]  suffix_o   // free slots up to the last
);
  wire [Width-1:0] free = ~used_i;
  join_runs #(.Parts(Width), .PartW(1)) i_join (
      .start_i('0), .slots_i(free), .prefix_i(free), .suffix_i(free), .start_o, .slots_o, .prefix_o, .suffix_o);
endmodule
