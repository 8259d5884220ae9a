-- The audit log: who changed what, each entry chained to those before it.
CREATE TABLE audit_log (
    sequence   bigint NOT NULL PRIMARY KEY,
    at         bigint NOT NULL,
    actor      text   NOT NULL,
    address    text   NOT NULL,
    action     text   NOT NULL,
    details    text   NOT NULL,
    outcome    text   NOT NULL,
    request_id text   NOT NULL,
    hash       bytea  NOT NULL
);

-- Where the chain begins ('first': before the oldest entry that is kept) and where it continues ('last': after the newest one).
CREATE TABLE audit_chain (
    bound    text   NOT NULL COLLATE "C" PRIMARY KEY,
    sequence bigint NOT NULL,
    link     bytea  NOT NULL
);

-- Against mistakes: whoever can change the schema can remove these. The chain shows what they do.
CREATE FUNCTION keep_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION 'entries of the audit log do not change';
    END IF;
    -- Retention moves the beginning of the chain first.
    IF OLD.sequence > coalesce((SELECT sequence FROM audit_chain WHERE bound = 'first'), 0) THEN
        RAISE EXCEPTION 'entries of the audit log are removed from its beginning only';
    END IF;
    RETURN OLD;
END
$$;

CREATE TRIGGER audit_log_kept BEFORE UPDATE OR DELETE ON audit_log FOR EACH ROW EXECUTE FUNCTION keep_audit_log();
