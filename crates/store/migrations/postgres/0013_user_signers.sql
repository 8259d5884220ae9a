-- The session with the user's remote signer, encrypted, if they have logged in with one.
ALTER TABLE user_relays ADD COLUMN signer text COLLATE "C";
