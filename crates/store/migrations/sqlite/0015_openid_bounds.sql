-- What anybody can make the OpenID Connect provider store is bounded in bytes: in all, and for each visitor.

-- What a record counts towards. 0: requests until the client has tokens; 1: sessions and tokens.
ALTER TABLE openid_records ADD COLUMN quota INTEGER NOT NULL DEFAULT 0;

-- Who has caused it. Of records of earlier versions that is not known.
ALTER TABLE openid_records ADD COLUMN visitor TEXT NOT NULL DEFAULT '';

-- About what it takes, with everything that belongs to it.
ALTER TABLE openid_records ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

-- When it was used.
ALTER TABLE openid_records ADD COLUMN used_at INTEGER;

UPDATE openid_records SET
    quota = data LIKE '{"kind":"session"%' OR data LIKE '{"kind":"access\_token"%' ESCAPE '\'
        OR data LIKE '{"kind":"refresh\_token"%' ESCAPE '\',
    bytes = 512 + length(data);

-- Which of a visitor goes first: of those that were used, and of the others, that with the smallest rowid.
CREATE INDEX openid_records_oldest_of ON openid_records (quota, visitor, used DESC);

-- The bytes of each visitor, and under '*' of all.
CREATE TABLE openid_sizes (
    quota   INTEGER NOT NULL,
    visitor TEXT    NOT NULL,
    bytes   INTEGER NOT NULL,
    PRIMARY KEY (quota, visitor)
) STRICT, WITHOUT ROWID;

-- When there is too much in all, the visitor with the most makes room.
CREATE INDEX openid_sizes_largest ON openid_sizes (quota, bytes);

INSERT INTO openid_sizes SELECT quota, visitor, sum(bytes) FROM openid_records GROUP BY quota, visitor;

INSERT INTO openid_sizes SELECT quota, '*', sum(bytes) FROM openid_records GROUP BY quota;

CREATE TRIGGER openid_records_added AFTER INSERT ON openid_records BEGIN
    INSERT INTO openid_sizes VALUES (NEW.quota, NEW.visitor, NEW.bytes), (NEW.quota, '*', NEW.bytes)
    ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER openid_records_removed AFTER DELETE ON openid_records BEGIN
    UPDATE openid_sizes SET bytes = bytes - OLD.bytes WHERE quota = OLD.quota AND visitor IN (OLD.visitor, '*');
    DELETE FROM openid_sizes WHERE quota = OLD.quota AND visitor = OLD.visitor AND bytes <= 0;
END;

-- Consents are bounded by their number.
ALTER TABLE openid_consents ADD COLUMN visitor TEXT NOT NULL DEFAULT '';

CREATE INDEX openid_consents_oldest ON openid_consents (at);

CREATE INDEX openid_consents_oldest_of ON openid_consents (visitor, at);
