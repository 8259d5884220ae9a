-- What was changed at run time.

CREATE TABLE settings (
    name  text NOT NULL COLLATE "C" PRIMARY KEY,
    value text NOT NULL COLLATE "C"
);
