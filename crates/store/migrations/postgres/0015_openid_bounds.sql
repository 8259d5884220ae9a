-- What anybody can make the OpenID Connect provider store is bounded in bytes: in all, and for each visitor.

-- What a record counts towards. 0: requests until the client has tokens; 1: sessions and tokens.
ALTER TABLE openid_records ADD COLUMN quota bigint NOT NULL DEFAULT 0;

-- Who has caused it.
ALTER TABLE openid_records ADD COLUMN visitor text NOT NULL DEFAULT '' COLLATE "C";

-- About what it takes, with everything that belongs to it.
ALTER TABLE openid_records ADD COLUMN bytes bigint NOT NULL DEFAULT 0;

-- When it was used.
ALTER TABLE openid_records ADD COLUMN used_at bigint;

-- Which of a visitor goes first: of those that were used, and of the others, the one that was added first.
CREATE INDEX openid_records_oldest_of ON openid_records (quota, visitor, used DESC, seq);

-- The bytes of each visitor, and under '*' of all.
CREATE TABLE openid_sizes (
    quota   bigint NOT NULL,
    visitor text   NOT NULL COLLATE "C",
    bytes   bigint NOT NULL,
    PRIMARY KEY (quota, visitor)
);

-- When there is too much in all, the visitor with the most makes room.
CREATE INDEX openid_sizes_largest ON openid_sizes (quota, bytes);

CREATE FUNCTION count_openid_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO openid_sizes VALUES (NEW.quota, NEW.visitor, NEW.bytes)
        ON CONFLICT (quota, visitor) DO UPDATE SET bytes = openid_sizes.bytes + excluded.bytes;
        INSERT INTO openid_sizes VALUES (NEW.quota, '*', NEW.bytes)
        ON CONFLICT (quota, visitor) DO UPDATE SET bytes = openid_sizes.bytes + excluded.bytes;
    ELSE
        UPDATE openid_sizes SET bytes = bytes - OLD.bytes WHERE quota = OLD.quota AND visitor IN (OLD.visitor, '*');
        DELETE FROM openid_sizes WHERE quota = OLD.quota AND visitor = OLD.visitor AND bytes <= 0;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER openid_records_counted AFTER INSERT OR DELETE ON openid_records
    FOR EACH ROW EXECUTE FUNCTION count_openid_record();

-- Consents are bounded by their number.
ALTER TABLE openid_consents ADD COLUMN visitor text NOT NULL DEFAULT '' COLLATE "C";

CREATE INDEX openid_consents_oldest ON openid_consents (at);

CREATE INDEX openid_consents_oldest_of ON openid_consents (visitor, at);
