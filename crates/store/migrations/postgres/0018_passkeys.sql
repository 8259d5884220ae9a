-- Passkeys with which users log in, by the id that their authenticators know them by. There is no secret in them: the wrapped
-- key opens with the passkey's authenticator alone.
CREATE TABLE passkeys (
    credential_id bytea  NOT NULL PRIMARY KEY,
    main_key      bytea  NOT NULL,
    user_handle   bytea  NOT NULL,
    public_key    bytea  NOT NULL,
    state         bytea  NOT NULL,
    wrapped_key   bytea,
    created_at    bigint NOT NULL,
    used_at       bigint NOT NULL
);

CREATE INDEX passkeys_main_key ON passkeys (main_key);
