// Station 4, too: is any bit of a word not as it should be? The word comes from a memory and is
// late; all else is known before it. Mapped by itself: the mapper takes all inputs of what it maps
// at once as equally late, and would put the word first. Source: the check of a free in
// core/nebula-nic/src/recv_buffer.rs.
(* keep_hierarchy *)
module any_wrong #(
    parameter int Width = 64
) (
    input  logic [Width-1:0] bits_i,
    input  logic [Width-1:0] wrong_if_0_i,
    input  logic [Width-1:0] wrong_if_1_i,
    output logic             any_o
);
  assign any_o = ((bits_i & wrong_if_1_i) | (~bits_i & wrong_if_0_i)) != '0;
endmodule
