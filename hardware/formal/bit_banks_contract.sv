  // A slot is watched: when all pairs have been cleared, its bit is read as it was written last.
  // Slots that do not exist stay 1.
  localparam int BitW = WordW + 6;
  (* anyseq *) logic [BitW-1:0] contract_any;
  logic contract_up_q = 1'b0;
  logic [BitW-1:0] contract_slot_q;        // chosen in the first cycle
  logic [WordW+5:0] contract_slots_q;
  logic [Pairs-1:0] contract_clear_q = '0;  // pairs that were
  logic contract_bit_q = 1'b0;
  wire contract_known = &contract_clear_q;
  wire [6:0] contract_count = to_i - from_i[6:0];
  wire [BitW:0] contract_end = (BitW+1)'(from_i) + (BitW+1)'(contract_count);
  wire contract_covers = write_i && contract_slot_q >= from_i && (BitW+1)'(contract_slot_q) < contract_end
      && !(keeps_first_i && contract_slot_q == from_i);
  always_ff @(posedge clk_i) begin
    contract_up_q    <= 1'b1;
    contract_slots_q <= slots_i;
    if (!contract_up_q) contract_slot_q <= 32'(contract_any) < 128 * Pairs ? contract_any : '0;
    else if (clear_i) begin
      contract_clear_q[clear_pair_i] <= 1'b1;
      if (clear_pair_i == contract_slot_q[BitW-1:7]) contract_bit_q <= Sentinel && contract_slot_q >= slots_i;
    end else if (contract_covers) contract_bit_q <= sets_i;
  end
  // The slots of a word that do not exist.
  function automatic logic [63:0] contract_none(input logic [WordW-1:0] word);
    contract_none = word < slots_i[WordW+5:6] ? 64'd0 : word > slots_i[WordW+5:6] ? ~64'd0 : ~64'd0 << slots_i[5:0];
  endfunction
  wire [WordW-1:0] contract_word = contract_slot_q[BitW-1:6];
  wire [WordW-1:0] contract_ahead = contract_word - window_i;
  wire [6:0] contract_at = {contract_ahead[0], contract_slot_q[5:0]};  // in the window
  always_comb begin
    if (contract_up_q) begin
      NEEDS (slots_i == contract_slots_q && slots_i <= (WordW+6)'(Slots) && (!clear_i || (32'(clear_pair_i) < Pairs && !write_i && !contract_known)));
      NEEDS (!write_i || (contract_known && contract_count != '0 && contract_count <= 7'd64));
      NEEDS (!write_i || (contract_end <= (BitW+1)'(sets_i || !Sentinel ? 128 * Pairs : 32'(slots_i))));
      if (contract_known) begin
        for (int i = 0; i < Words; i++) begin
          if (word_i[i*WordW+:WordW] == contract_word) GIVES (bits_o[i*64+32'(contract_slot_q[5:0])] == contract_bit_q);
          if (Sentinel && 32'(word_i[i*WordW+:WordW]) < 2 * Pairs) begin
            GIVES ((~bits_o[i*64+:64] & contract_none(word_i[i*WordW+:WordW])) == '0);
          end
        end
        if (Window && contract_word >= window_i && contract_ahead <= WordW'(1)) begin
          if (same_o && care_i[contract_at]) GIVES (wanted_i[contract_at] == contract_bit_q);
          if (!same_o && care_i == 128'd1 << contract_at) GIVES (wanted_i[contract_at] != contract_bit_q);
        end
      end
    end
  end
