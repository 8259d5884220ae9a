-- Passkeys with which users log in, by the id that their authenticators know them by. There is no secret in them: the wrapped
-- key opens with the passkey's authenticator alone.
CREATE TABLE passkeys (
    credential_id BLOB    NOT NULL PRIMARY KEY,
    main_key      BLOB    NOT NULL,
    user_handle   BLOB    NOT NULL,
    public_key    BLOB    NOT NULL,
    state         BLOB    NOT NULL,
    wrapped_key   BLOB,
    created_at    INTEGER NOT NULL,
    used_at       INTEGER NOT NULL
) STRICT;

CREATE INDEX passkeys_main_key ON passkeys (main_key);
