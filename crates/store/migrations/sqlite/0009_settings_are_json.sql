-- The values of settings are JSON, so that a damaged one is found. These two were bare words.
UPDATE settings SET value = '"' || value || '"' WHERE value IN ('settled', 'unsettled');
