// Stations 5 and 7, too: a word times a constant, modulo 2^64, as two rows whose sum it is. The
// constant is written with digits of 1, 0 and -1 of which no two in a row are not 0, so that a row
// is added or taken off for a third of them. Source: the multiplications of `mix` in
// core/nebula-nic/src/hash.rs.
module times #(
    parameter logic [63:0] Factor = 3
) (
    input  logic [63:0] word_i,
    output logic [63:0] sum_o,
    output logic [63:0] carry_o
);
  // Digit k is not 0 where bit k + 1 of the factor and of three times the factor differ.
  localparam logic [65:0] Thrice = 66'(Factor) + (66'(Factor) << 1);
  localparam logic [63:0] Plus = 64'((Thrice & ~66'(Factor)) >> 1);
  localparam logic [63:0] Minus = 64'((66'(Factor) & ~Thrice) >> 1);
  function automatic int digits(input int below);
    digits = 0;
    for (int i = 0; i < below; i++) if (Plus[i] || Minus[i]) digits++;
  endfunction
  localparam int Rows = digits(64) + 1;
  logic [Rows*64-1:0] rows;
  for (genvar i = 0; i < 64; i++) begin : g_digit
    if (Plus[i]) begin : g_plus
      assign rows[digits(i)*64+:64] = word_i << i;
    end else if (Minus[i]) begin : g_minus
      assign rows[digits(i)*64+:64] = ~word_i << i;
    end
  end
  // -x is ~x + 1 for each digit of -1.
  assign rows[(Rows-1)*64+:64] = Minus;
  compress #(.Width(64), .Rows(Rows)) i_compress (.rows_i(rows), .sum_o, .carry_o);
endmodule
