// Station 4, too: a word of two banks, as it is written meanwhile. What the banks hold is late; all
// else is known before it. Mapped by itself, as any_wrong is: the late words pass two gates.
// Source: `Word` of core/nebula-nic/src/recv_buffer.rs.
(* keep_hierarchy *)
module bank_word (
    input  logic [63:0] even_i,
    input  logic [63:0] odd_i,
    input  logic [63:0] of_even_i,  // the bits that the even bank has
    input  logic [63:0] of_odd_i,   // … and the odd one
    input  logic [63:0] set_i,      // and those that are 1
    output logic [63:0] bits_o
);
  assign bits_o = (even_i & of_even_i) | (odd_i & of_odd_i) | set_i;
endmodule
