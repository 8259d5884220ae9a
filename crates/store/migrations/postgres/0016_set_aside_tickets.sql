-- Proofs that are set aside: their mint calls them spent, although the wallet has not spent them. They are kept, and are in
-- no balance, until the mint says otherwise.
ALTER TABLE ticket_proofs ADD COLUMN set_aside boolean NOT NULL DEFAULT FALSE;

-- Balances, and the smallest first.
CREATE INDEX ticket_proofs_free ON ticket_proofs (mint_url, unit, amount, id) WHERE job IS NULL AND NOT set_aside;

-- What their mints are asked about again.
CREATE INDEX ticket_proofs_set_aside ON ticket_proofs (id) WHERE set_aside;
