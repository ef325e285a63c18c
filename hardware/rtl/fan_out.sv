// Copies of a word for several readers: wires here, of which synthesis makes a buffer each
// (hardware/synth/map.tcl).
(* keep_hierarchy *)
module fan_out #(
    parameter int Width = 64,
    parameter int Copies = 4
) (
    input  logic [Width-1:0]        from_i,
    output logic [Copies*Width-1:0] to_o
);
  assign to_o = {Copies{from_i}};
endmodule
