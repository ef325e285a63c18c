// Station 4, too: the next used slot of a word, or the end of the word, for one who goes on;
// another place for one who does not. The word comes from a memory and is late; all else is known
// before it. Mapped by itself, as any_wrong is. Source: `head`, `tail` and `low` of
// core/nebula-nic/src/recv_buffer.rs.
(* keep_hierarchy *)
module walker #(
    parameter int WordW = 9
) (
    input  logic [63:0]      used_i,
    input  logic [63:0]      from_on_i,  // the bits that count
    input  logic             walks_i,
    input  logic [WordW-1:0] word_i,     // where the next used slot is, if there is one
    input  logic [WordW-1:0] past_i,     // … and if there is none; both the same for one who does not go on
    input  logic [5:0]       bit_i,      // the place in the word of one who does not
    output logic [WordW+5:0] next_o
);
  logic is_found;
  logic [5:0] found;
  lowest #(.Width(64)) i_lowest (.bits_i(used_i & from_on_i), .any_o(is_found), .index_o(found));
  assign next_o = {is_found ? word_i : past_i, walks_i ? found & {6{is_found}} : bit_i};
endmodule
