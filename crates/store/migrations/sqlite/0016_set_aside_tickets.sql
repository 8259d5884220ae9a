-- Proofs that are set aside: their mint calls them spent, although the wallet has not spent them. They are kept, and are in
-- no balance, until the mint says otherwise.
ALTER TABLE ticket_proofs ADD COLUMN set_aside INTEGER NOT NULL DEFAULT 0;

DROP INDEX ticket_proofs_free;

-- Balances, and the smallest first.
CREATE INDEX ticket_proofs_free ON ticket_proofs (mint_url, unit, amount, id) WHERE job IS NULL AND set_aside = 0;

-- What their mints are asked about again.
CREATE INDEX ticket_proofs_set_aside ON ticket_proofs (id, mint_url, unit, amount) WHERE set_aside = 1;
