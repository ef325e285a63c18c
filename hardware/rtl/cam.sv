// Station 5, too: a CAM, which compares all of its entries with a key at once. A tree: at each
// branch there are up to four smaller CAMs, down to one entry, which is its bits and a comparator.
// Synthesis maps each size once. Source: the search for an entry of
// core/nebula-nic/src/reassembler.rs.
(* keep_hierarchy *)
module cam #(
    parameter int Entries = 64,
    parameter int KeyW = 64
) (
    input  logic               clk_i,
    input  logic [KeyW-1:0]    key_i,
    input  logic [Entries-1:0] write_i,  // the key becomes that of this entry
    output logic [Entries-1:0] match_o   // the entry has this key
);
  if (Entries == 1) begin : g_entry
    logic [KeyW-1:0] key_q;
    always_ff @(posedge clk_i) if (write_i[0]) key_q <= key_i;
    assign match_o[0] = key_q == key_i;
  end else begin : g_branch
    localparam int Part = (Entries + 3) / 4;
    localparam int Parts = (Entries + Part - 1) / Part;
    logic [Parts*KeyW-1:0] key;
    fan_out #(.Width(KeyW), .Copies(Parts)) i_key (.from_i(key_i), .to_o(key));
    for (genvar i = 0; i < Parts; i++) begin : g_part
      localparam int First = i * Part;
      localparam int Count = Entries - First < Part ? Entries - First : Part;
      cam #(.Entries(Count), .KeyW(KeyW)) i_part (
          .clk_i, .key_i(key[i*KeyW+:KeyW]), .write_i(write_i[First+:Count]), .match_o(match_o[First+:Count]));
    end
  end
endmodule
